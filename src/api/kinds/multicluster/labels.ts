// Labels and annotations of exports, imports and their slices.

/** On a slice: the ServiceImport it belongs to (MCS-63). */
export const importNameLabel = 'multicluster.kubernetes.io/service-name';
/** On a slice: the ImportedService it belongs to (MCS-63). */
export const importedServiceNameLabel = 'multicluster.kubernetes.io/imported-service-name';
/** On a slice: the id of the cluster it comes from (MCS-64). */
export const sourceClusterLabel = 'multicluster.kubernetes.io/source-cluster';
/** On a derived Service, for proxies without support for imports: its import, as `namespace/name`. */
export const derivedFromAnnotation = 'fairlead.dev/derived-from';

/**
 * How other clusters treat the endpoints of a cluster whose lease is not renewed. `Remove`: remove them when the lease
 * expires. `Demote`: also use them only as a last resort from the first missed renewal. `Keep`: keep them, for services
 * that are reachable without the API server of that cluster.
 */
export type LossPolicy = 'Remove' | 'Demote' | 'Keep';

export const lossPolicies: readonly LossPolicy[] = ['Remove', 'Demote', 'Keep'];

/**
 * The addresses by which other clusters reach the exports of a cluster. `pods`: those of its endpoints. `loadbalancer`, `nodeport`: those
 * of the load balancer of the Service, or of the nodes, with the ports there. `gateway`: those of their own gateways, which connect with
 * the gateways of the cluster.
 */
export type AddressMode = 'pods' | 'loadbalancer' | 'nodeport' | 'gateway';

export const addressModes: readonly AddressMode[] = ['pods', 'loadbalancer', 'nodeport', 'gateway'];

/** On an export and its slices: the policy of the service. */
export const lossAnnotation = 'fairlead.dev/on-source-loss';
