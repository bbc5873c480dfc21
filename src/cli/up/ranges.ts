/** The default ranges of a cluster of `up`. Linux can bind all of their addresses without configuration. */
export interface DefaultRanges {
  readonly services: string;
  readonly supercluster: string;
  readonly pods: string;
}

/** 127.0.0.0/8 has disjoint ranges for this number of clusters. */
export const maxClusters = 64;

/** The ranges of the i-th cluster, counted from 0. */
export const defaultRanges = (index: number): DefaultRanges => ({
  services: `127.${64 + index}.0.0/16`,
  supercluster: `127.${128 + index}.0.0/16`,
  pods: `127.${192 + index}.0.0/16`,
});

/**
 * Loopback ranges that endpoints may use, which Kubernetes rejects: the default ranges of all clusters, since an imported
 * Service has endpoints in another cluster.
 */
export const loopbackEndpoints = (clusters: number): readonly string[] =>
  Array.from({ length: clusters }, (_, index) => Object.values(defaultRanges(index))).flat();
