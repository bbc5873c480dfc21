import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/**
 * Remembers what was worked out about slices that are the same objects still, so that a change of one slice costs as much
 * as that slice and not as the whole service. One for each member; without it, or with a new one, the results are the same.
 */
export class Memory {
  /** Source slice → its mirror, and under which rule it was made. */
  readonly #mirrors = new WeakMap<
    EndpointSlice,
    { readonly rule: string; readonly mirror: EndpointSlice | undefined }
  >();
  /** Slice that is there → the wanted slice that it was found equal to. */
  readonly #equals = new WeakMap<EndpointSlice, EndpointSlice>();

  /** The mirror of a slice under a rule, given as text. */
  mirror(slice: EndpointSlice, rule: string, make: () => EndpointSlice | undefined): EndpointSlice | undefined {
    const known = this.#mirrors.get(slice);
    if (known?.rule === rule) return known.mirror;
    const mirror = make();
    this.#mirrors.set(slice, { rule, mirror });
    return mirror;
  }

  /** Whether a slice is as wanted. */
  isSame(actual: EndpointSlice, wanted: EndpointSlice, compare: () => boolean): boolean {
    if (this.#equals.get(actual) === wanted) return true;
    if (!compare()) return false;
    this.#equals.set(actual, wanted);
    return true;
  }
}
