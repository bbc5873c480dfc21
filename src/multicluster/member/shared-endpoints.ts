import { hash } from 'node:crypto';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { isOurSlice } from '../project/labels.ts';

/**
 * Deduplicates lists of endpoints: a slice and its mirrors in all members share one list. Memory grows with the number of
 * exported endpoints, not with that times the members, and comparing equal lists is free. A list without slices is collected.
 */
export class SharedEndpoints {
  /** Digest of a list → the list. */
  readonly #lists = new Map<string, WeakRef<readonly Endpoint[]>>();
  readonly #gone = new FinalizationRegistry<string>((digest) => {
    // A new list with the same content may have been added since.
    if (this.#lists.get(digest)?.deref() === undefined) this.#lists.delete(digest);
  });

  /** The slice with the shared list. */
  in(slice: EndpointSlice): EndpointSlice {
    const { endpoints } = slice;
    if (!endpoints || endpoints.length === 0) return slice;
    // Edits of our own slices must be seen, so that they are reverted.
    return { ...slice, endpoints: this.#shared(isOurSlice(slice) ? endpoints : endpoints.map(exported)) };
  }

  #shared(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const digest = hash('sha1', JSON.stringify(endpoints));
    const known = this.#lists.get(digest)?.deref();
    if (known !== undefined) return known;
    this.#lists.set(digest, new WeakRef(endpoints));
    this.#gone.register(endpoints, digest);
    return endpoints;
  }
}

/** Removes what is only valid in the source cluster: a Pod of the same name elsewhere is another Pod. */
function exported(endpoint: Endpoint): Endpoint {
  if (endpoint.targetRef === undefined && endpoint.deprecatedTopology === undefined) return endpoint;
  const { targetRef: _pod, deprecatedTopology: _topology, ...rest } = endpoint;
  return rest;
}
