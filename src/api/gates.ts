/** The feature gates of a process. */
export interface Gates {
  enabled(name: GateName): boolean;
}

/** The maturity of a feature: by default alpha is disabled, GA is enabled, and beta with few exceptions. */
export type GateStage = 'ALPHA' | 'BETA' | 'GA';

export interface GateSpec {
  readonly stage: GateStage;
  readonly default: boolean;
  /** Cannot be set to anything but its default. */
  readonly locked: boolean;
  readonly description: string;
}

const gate = (stage: GateStage, description: string, isOn: boolean = stage !== 'ALPHA'): GateSpec => ({
  stage,
  default: isOn,
  locked: stage === 'GA',
  description,
});

/** All feature gates, by name. */
export const gateSpecs = {
  LoadBalancerIPMode: gate('GA', 'status.loadBalancer.ingress[].ipMode'),
  MixedProtocolLBService: gate('BETA', 'several protocols on one LoadBalancer Service (KEP-1435)'),
  MultiCIDRServiceAllocator: gate('GA', 'ServiceCIDR and IPAddress objects hold the cluster IPs'),
  MutatingAdmissionPolicy: gate('BETA', 'mutating admission policies, admissionregistration.k8s.io/v1beta1', false),
  PreferSameTrafficDistribution: gate('GA', 'trafficDistribution PreferSameZone and PreferSameNode (KEP-3015)'),
  RelaxedServiceNameValidation: gate('BETA', 'Service names may start with a digit (KEP-5311)'),
  SRVServiceName: gate('BETA', 'spec.ports[].srvServiceName names the SRV record (KEP-3241)'),
  ServiceTrafficDistribution: gate('GA', 'spec.trafficDistribution'),
  StrictIPCIDRValidation: gate('ALPHA', 'addresses must be written in canonical form (KEP-4858)'),
  TopologyAwareHints: gate('GA', 'zone hints on the endpoints of a slice'),
} as const satisfies Record<string, GateSpec>;

export type GateName = keyof typeof gateSpecs;

/** Whether a gate of this name exists; names are case-sensitive. */
export const isGateName = (name: string): name is GateName => Object.hasOwn(gateSpecs, name);

/** The names of all gates, sorted. */
export const gateNames: readonly GateName[] = Object.keys(gateSpecs).filter(isGateName).sort();

/** Gates with the given settings, and defaults for all others. */
export function gatesWith(settings: Partial<Readonly<Record<GateName, boolean>>> = {}): Gates {
  return { enabled: (name) => settings[name] ?? gateSpecs[name].default };
}

/** A gate and its setting, for `fairlead gates` and the metric `kubernetes_feature_enabled`. */
export interface GateState extends GateSpec {
  readonly name: GateName;
  readonly enabled: boolean;
}

/** Every gate with its setting, sorted by name. */
export const gateStates = (gates: Gates): GateState[] =>
  gateNames.map((name) => ({ name, ...gateSpecs[name], enabled: gates.enabled(name) }));
