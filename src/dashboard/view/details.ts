// What the server sends about one Service or import, and as answers to questions. Plain data, as rows are.
import type { EventRow } from './rows.ts';

/** One step of the way of a connection. */
export interface Step {
  readonly title: string;
  readonly state: 'ok' | 'broken' | 'unknown';
  /** One sentence. */
  readonly summary: string;
  /** Records, routes or endpoints, one per line. */
  readonly lines: readonly StepLine[];
  /** Sentences with the reasons. */
  readonly why: readonly string[];
}

export interface StepLine {
  readonly text: string;
  /** Its objects, or the reason. */
  readonly note: string;
  readonly isUsed: boolean;
}

/** The way of a connection to one name. */
export interface Path {
  /** The name that a client uses. */
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface ConditionRow {
  /** Such as `ServiceExport of multicluster.x-k8s.io`. */
  readonly object: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** What the status means, in plain words; '' for unknown types. */
  readonly meaning: string;
  /** Whether the status is what people hope for. */
  readonly isGood: boolean;
}

/** What one kind of cloud load balancer would cost. */
export interface PlanRow {
  readonly provider: string;
  readonly kind: string;
  readonly isRequested: boolean;
  readonly works: 'yes' | 'in part' | 'no';
  readonly resources: number;
  /** USD per month; undefined: unknown. */
  readonly monthly: number | undefined;
  readonly note: string;
}

export interface BalancerPlan {
  /** `namespace/name`. */
  readonly service: string;
  readonly ports: string;
  readonly rows: readonly PlanRow[];
  /** When prices were read. */
  readonly pricesOf: string;
}

export interface Details {
  readonly paths: readonly Path[];
  readonly conditions: readonly ConditionRow[];
  readonly events: readonly EventRow[];
  /** SRV names with their ports. */
  readonly srv: readonly { readonly name: string; readonly port: string }[];
  readonly yaml: readonly { readonly title: string; readonly text: string }[];
  /** Only of Services of type LoadBalancer. */
  readonly plan?: BalancerPlan;
}

/** One step of the way from an export to its import. */
export interface ShareStep {
  readonly step: string;
  readonly state: 'ok' | 'broken' | 'unknown' | 'not reached';
  readonly message: string;
}

/** Why a service is, or is not, available in a cluster. */
export interface Sharing {
  readonly steps: readonly ShareStep[];
  /** Exporters, merged views and conflicts, as `mcs explain` prints them. */
  readonly explanation: string;
}

/** The answer to a question in one cluster. */
export interface Answer {
  readonly cluster: string;
  readonly rcode: string;
  readonly question: string;
  readonly records: readonly StepLine[];
  readonly why: readonly string[];
}

/** An object that has an address. */
export interface Holder {
  readonly cluster: string;
  /** The row. */
  readonly id: string;
  /** Such as `cluster IP of Service shop/web`. */
  readonly text: string;
}

export interface Answers {
  readonly answers: readonly Answer[];
  /** Of an address. */
  readonly holders: readonly Holder[];
}

/** The consequences of an export, before it is made. */
export interface ExportPlanText {
  /** As `mcs plan` prints it. */
  readonly text: string;
  readonly hasConflicts: boolean;
}
