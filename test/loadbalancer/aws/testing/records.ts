// Stored state of the resources of an account.

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
  /** Remaining reads before it is active. */
  provisioning: number;
  /** Remaining reads before lists contain it. */
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
  /** Deregistered targets that are still listed. */
  readonly draining: Set<string>;
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
  /** Remaining failures to delete it after the deletion of its load balancer. */
  inUse: number;
}

/** Delays of an account, counted in requests. */
export interface Slowness {
  /** Reads until a new load balancer is active. */
  readonly provisioning: number;
  /** Reads until lists contain a new load balancer. */
  readonly hidden: number;
  /** Failures to delete a group after the deletion of its load balancer. */
  readonly inUse: number;
}
