// The labels and annotations by which imports, their slices and their Services find each other.

/** On a slice: the ServiceImport it belongs to (MCS-63). */
export const importNameLabel = 'multicluster.kubernetes.io/service-name';
/** On a slice: the ImportedService it belongs to (MCS-63). */
export const seedImportNameLabel = 'multicluster.kubernetes.io/imported-service-name';
/** On a slice: the id of the cluster it comes from (MCS-64). */
export const sourceClusterLabel = 'multicluster.kubernetes.io/source-cluster';
/** On a Service: the import it stands for at proxies that know no imports, as `namespace/name`. */
export const derivedFromAnnotation = 'fairlead.dev/derived-from';
