/** Our own error codes of ports, without the domain; each is documented in docs/reference/load-balancers.md. */
export const faultReasons = [
  'AddressInUse',
  'AddressNotStatic',
  'AddressUnknown',
  'CannotChange',
  'InvalidAnnotation',
  'NoFreeAddress',
  'NoHealthCheckPort',
  'NodePortMismatch',
  'NodePortRequired',
  'OtherPortRefused',
  'QuotaExceeded',
  'SamePortNotSupported',
  'SamePortOptInRequired',
  'UnsupportedAffinity',
  'UnsupportedAppProtocol',
  'UnsupportedFamily',
  'UnsupportedLoadBalancerIP',
  'UnsupportedProtocol',
  'UnsupportedSourceRanges',
  'UnsupportedTls',
] as const;

/** Error code of a port in the status: that of Kubernetes, or ours with our domain. */
export type FaultCode = 'MixedProtocolNotSupported' | `fairlead.dev/${(typeof faultReasons)[number]}`;

/** Why a port or a Service cannot be served. */
export interface Fault {
  readonly code: FaultCode;
  readonly message: string;
}

/** Creates a fault with one of our codes. */
export const fault = (word: Extract<FaultCode, `fairlead.dev/${string}`>, message: string): Fault => ({
  code: word,
  message,
});

const mixingFaults: ReadonlySet<FaultCode> = new Set([
  'MixedProtocolNotSupported',
  'fairlead.dev/NodePortMismatch',
  'fairlead.dev/SamePortNotSupported',
  'fairlead.dev/SamePortOptInRequired',
  'fairlead.dev/UnsupportedProtocol',
]);

/** Whether a Service with several protocols and this fault would work with fewer. */
export const isAboutMixing = (code: FaultCode): boolean => mixingFaults.has(code);

/** The condition reason of a code: its part after the domain. */
export const reasonOf = (code: FaultCode): string =>
  code === 'MixedProtocolNotSupported' ? 'LoadBalancerMixedProtocolNotSupported' : code.slice(code.indexOf('/') + 1);
