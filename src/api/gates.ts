/** The feature gates as they are set for a process. */
export interface Gates {
  enabled(name: GateName): boolean;
}
export type GateName =
  | 'SRVServiceName'
  | 'RelaxedServiceNameValidation'
  | 'MixedProtocolLBService'
  | 'StrictIPCIDRValidation'
  | 'PreferSameTrafficDistribution';
