// Labels and annotations of EndpointSlices and Endpoints.

/** On a slice: the Service it belongs to. */
export const serviceNameLabel = 'kubernetes.io/service-name';
/** On a slice: the controller that manages it; others must not write it. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** On a slice or Endpoints, with an empty value: the Service has no cluster IP. */
export const headlessLabel = 'service.kubernetes.io/headless';
/** On a slice or Endpoints: the time of the change that triggered its last write. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';
/** On a slice: the region of its cluster. Endpoints have a field only for the zone. */
export const regionAnnotation = 'fairlead.dev/region';
