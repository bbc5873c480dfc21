// What AWS keeps of each thing in an account.

export interface ListenerRecord {
  readonly arn: string;
  readonly port: number;
  protocol: string;
  group: string;
  certificate: string;
  policy: string;
}

export interface BalancerRecord {
  readonly arn: string;
  readonly name: string;
  readonly scheme: string;
  readonly allocations: readonly string[];
  subnets: readonly string[];
  securityGroups: readonly string[];
  addressType: string;
  /** How often it is still asked for before it is active. */
  provisioning: number;
  /** How often it is still asked for before lists have it. */
  hidden: number;
  readonly listeners: Map<string, ListenerRecord>;
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
}

export interface GroupRecord {
  readonly arn: string;
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly targetType: string;
  readonly vpc: string;
  readonly health: Map<string, string>;
  /** `i-0a`, or `192.0.2.7:8080`. */
  readonly targets: Set<string>;
  /** Those that were deregistered, and are listed for a while. */
  readonly draining: Set<string>;
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
  /** How many tries to delete it fail because its load balancer has only just gone. */
  inUse: number;
}

/** How an account takes its time. */
export interface Slowness {
  /** Reads until a new load balancer is active. */
  readonly provisioning: number;
  /** Reads until lists have a new load balancer. */
  readonly hidden: number;
  /** Failed tries to delete a group after its load balancer went. */
  readonly inUse: number;
}
