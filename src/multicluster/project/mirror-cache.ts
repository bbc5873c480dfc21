import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/**
 * Caches mirrors and comparisons per slice object, so that the change of one slice costs as much as that slice and not as the
 * whole service. One cache per member; the results do not depend on it.
 */
export class MirrorCache {
  /** Source slice → its mirror, and the rule that it was computed with. */
  readonly #mirrors = new WeakMap<
    EndpointSlice,
    { readonly rule: string; readonly mirror: EndpointSlice | undefined }
  >();
  /** Actual slice → the desired slice that it is equal to. */
  readonly #equals = new WeakMap<EndpointSlice, EndpointSlice>();

  /** The mirror of a slice under a rule, which is given as text. */
  mirror(slice: EndpointSlice, rule: string, make: () => EndpointSlice | undefined): EndpointSlice | undefined {
    const known = this.#mirrors.get(slice);
    if (known?.rule === rule) return known.mirror;
    const mirror = make();
    this.#mirrors.set(slice, { rule, mirror });
    return mirror;
  }

  /** Whether an actual slice is equal to the desired one. */
  isSame(actual: EndpointSlice, wanted: EndpointSlice, compare: () => boolean): boolean {
    if (this.#equals.get(actual) === wanted) return true;
    if (!compare()) return false;
    this.#equals.set(actual, wanted);
    return true;
  }
}
