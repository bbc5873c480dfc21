import type { Clock, Random } from '../client/clock.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';
import type { DeletionLimits } from '../client/deletion-limiter.ts';
import type { Policy } from './plan/changes.ts';
import type { RegistryOptions } from './plan/registry.ts';
import type { DomainFilter } from './plan/zones.ts';
import type { Provider } from './providers/provider.ts';
import type { WebhookCall } from './providers/webhook/provider.ts';

/** The objects that can be published. */
export const sourceNames = ['service', 'import'] as const;
export type SourceName = (typeof sourceNames)[number];

/** What is published, and under which rules. */
export interface PlanOptions {
  readonly registry: RegistryOptions;
  readonly policy: Policy;
  readonly filter: DomainFilter;
  /** TTL of records without an annotation. */
  readonly ttl: number;
  readonly sources: readonly SourceName[];
}

export interface PublisherOptions extends PlanOptions {
  /** Opens the provider when this replica becomes the leader. */
  readonly openProvider: (observe: ProviderObserver) => Provider;
  /** Changes are logged and not applied. */
  readonly isDryRun: boolean;
  /** How often zones are read without a change of an object. */
  readonly intervalMs: number;
  readonly deletionLimits?: DeletionLimits;
  /** undefined: this is the only replica. */
  readonly leaderElection?: LeaderElectionOptions | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** What a provider reports for metrics. */
export interface ProviderObserver {
  readonly clock: Clock;
  /** A message was sent to a server or received from it. */
  readonly onMessage: () => void;
  /** A call of the webhook protocol has ended. */
  readonly onWebhookCall: (call: WebhookCall, isError: boolean) => void;
}
