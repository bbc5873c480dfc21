// Labels, annotations and names of the Gateway API.

export const gatewayGroup = 'gateway.networking.k8s.io';
/** The controller of GatewayClasses whose Gateways Fairlead serves. */
export const gatewayController = 'fairlead.dev/gateway';
/** On objects that a Gateway needs: the Gateway. */
export const gatewayNameLabel = 'gateway.networking.k8s.io/gateway-name';
/** On a slice of a Gateway: the backend that its endpoints belong to. */
export const backendAnnotation = 'gateway.fairlead.dev/backend';
/** On a slice of a Gateway: the share of connections that all endpoints of the backend get together, relative to other backends. */
export const weightAnnotation = 'gateway.fairlead.dev/weight';
