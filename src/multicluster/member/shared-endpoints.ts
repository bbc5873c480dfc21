import { hash } from 'node:crypto';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { isOurSlice } from '../project/marks.ts';

/**
 * Endpoints that are the same in many clusters, once: a slice and its mirrors in all members hold one list of them. Memory
 * then grows with what is exported, not with that times the members, and to compare two equal lists costs nothing.
 * A list stays for as long as some slice has it.
 */
export class SharedEndpoints {
  /** Digest of a list → the list. */
  readonly #lists = new Map<string, WeakRef<readonly Endpoint[]>>();
  readonly #gone = new FinalizationRegistry<string>((digest) => {
    // Another of the same content may have come since.
    if (this.#lists.get(digest)?.deref() === undefined) this.#lists.delete(digest);
  });

  /** The slice with the list that others have too. */
  in(slice: EndpointSlice): EndpointSlice {
    const { endpoints } = slice;
    if (!endpoints || endpoints.length === 0) return slice;
    // What others have put into ours must be seen, and taken back.
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

/** Without what means nothing elsewhere: a Pod of that name there is another. */
function exported(endpoint: Endpoint): Endpoint {
  if (endpoint.targetRef === undefined && endpoint.deprecatedTopology === undefined) return endpoint;
  const { targetRef: _pod, deprecatedTopology: _topology, ...rest } = endpoint;
  return rest;
}
