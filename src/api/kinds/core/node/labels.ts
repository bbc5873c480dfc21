// Labels of the place of a node.
export const zoneLabel = 'topology.kubernetes.io/zone';
export const regionLabel = 'topology.kubernetes.io/region';
/** The name of the machine. */
export const hostnameLabel = 'kubernetes.io/hostname';
