/** Words of ours for why a port is not served; each is explained in docs/reference/load-balancers.md. */
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

/** Why a port is not served: Kubernetes' own word, or ours with our domain. */
export type FaultCode = 'MixedProtocolNotSupported' | `fairlead.dev/${(typeof faultReasons)[number]}`;

/** Why something is refused, for programs and for people. */
export interface Fault {
  readonly code: FaultCode;
  readonly message: string;
}

/** A fault of ours. */
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

/** Whether a mixed Service that has this fault would work with fewer protocols. */
export const isAboutMixing = (code: FaultCode): boolean => mixingFaults.has(code);

/** A condition's reason: the last word of a code. */
export const reasonOf = (code: FaultCode): string =>
  code === 'MixedProtocolNotSupported' ? 'LoadBalancerMixedProtocolNotSupported' : code.slice(code.indexOf('/') + 1);
