// The labels and annotations by which Services, Endpoints and slices find each other.

/** On a slice: the Service it belongs to. */
export const serviceNameLabel = 'kubernetes.io/service-name';
/** On a slice: who writes it; everybody else leaves it alone. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** On a slice or Endpoints, with an empty value: the Service has no virtual address. */
export const headlessLabel = 'service.kubernetes.io/headless';
/** On a slice or Endpoints: when the change happened that led to its last write. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';
/** On a slice: the region of the cluster it comes from, since slices have a field for the zone alone. */
export const regionAnnotation = 'fairlead.dev/region';
