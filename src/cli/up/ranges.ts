/** The addresses that a cluster of `up` uses unless told otherwise: all bindable on Linux without any set-up. */
export interface DefaultRanges {
  readonly services: string;
  readonly supercluster: string;
  readonly pods: string;
}

/** How many clusters have a range of their own in 127.0.0.0/8. */
export const mostClusters = 64;

/** The ranges of the i-th cluster, counted from 0. */
export const defaultRanges = (index: number): DefaultRanges => ({
  services: `127.${64 + index}.0.0/16`,
  supercluster: `127.${128 + index}.0.0/16`,
  pods: `127.${192 + index}.0.0/16`,
});

/**
 * Loopback ranges that endpoints may use. Kubernetes refuses loopback there; these are where the default ranges of the
 * clusters are, and every cluster allows those of all, since an imported Service has endpoints in another cluster.
 */
export const loopbackEndpoints = (clusters: number): readonly string[] =>
  Array.from({ length: clusters }, (_, index) => Object.values(defaultRanges(index))).flat();
