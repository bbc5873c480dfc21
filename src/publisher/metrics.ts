// Metrics, under the names of ExternalDNS where it has them.
import type { Registry } from 'prom-client';
import type { Samples } from '../metrics/collected.ts';
import { collectedCounter, collectedGauge } from '../metrics/collected.ts';
import type { Name } from '../dnswire/data.ts';
import type { DesiredIndex } from './plan/desired-index.ts';
import type { ZonePlan } from './plan/zone-planner.ts';
import type { RecordSet, ZoneContent } from './plan/record-set.ts';
import type { WebhookCall } from './providers/webhook/provider.ts';

/** A zone when it was compared last. Its sets are counted only when metrics are read. */
interface ComparedZone {
  readonly content: ZoneContent;
  readonly plan: ZonePlan;
}

/** Counts what the publisher does. */
export class PublisherMetrics {
  readonly #zones = new Map<Name, ComparedZone>();
  /** `ZONE KIND` → changes that were applied. */
  readonly #changes = new Map<string, number>();
  #desired: Pick<DesiredIndex, 'zones' | 'refusals'> = nothing;
  #consecutiveErrors = 0;
  #providerErrors = 0;
  #noOps = 0;
  #reconciledAt = 0;
  #syncedAt = 0;
  #messages = 0;
  /** Call → its number and that of its errors. */
  readonly #webhookCalls = new Map<WebhookCall, { all: number; errors: number }>();

  constructor(registry: Registry) {
    const counter = (name: string, help: string, read: () => Samples): void =>
      collectedCounter(registry, name, help, read);
    const gauge = (name: string, help: string, read: () => Samples): void => collectedGauge(registry, name, help, read);
    const byType = (read: (zone: ComparedZone) => ReadonlyMap<string, number>) => (): Samples =>
      typed(sum([...this.#zones.values()].map(read)));
    const records = ({ content }: ComparedZone): ReadonlyMap<string, number> =>
      countTypes(content.values().flatMap((sets) => sets));
    const desired = (): ReadonlyMap<string, number> =>
      sum(
        [...this.#desired.zones.values()].map((names) =>
          countTypes(names.values().flatMap((all) => all.map(({ set }) => set))),
        ),
      );
    gauge(
      'external_dns_controller_consecutive_soft_errors',
      'Number of consecutive soft errors in reconciliation loop.',
      () => this.#consecutiveErrors,
    );
    gauge(
      'external_dns_controller_last_reconcile_timestamp_seconds',
      'Timestamp of last attempted sync with the DNS provider',
      () => this.#reconciledAt,
    );
    gauge(
      'external_dns_controller_last_sync_timestamp_seconds',
      'Timestamp of last successful sync with the DNS provider',
      () => this.#syncedAt,
    );
    counter(
      'external_dns_controller_no_op_runs_total',
      'Number of reconcile loops ending up with no changes on the DNS provider side.',
      () => this.#noOps,
    );
    gauge(
      'external_dns_controller_verified_records',
      'Number of DNS records that exists both in source and registry, by record type.',
      byType(({ plan }) => plan.owned),
    );
    gauge('external_dns_registry_endpoints_total', 'Number of Endpoints in the registry', () =>
      total(sum([...this.#zones.values()].map(records))),
    );
    counter('external_dns_registry_errors_total', 'Number of Registry errors.', () => this.#providerErrors);
    gauge('external_dns_registry_records', 'Number of registry records, by record type.', byType(records));
    gauge(
      'external_dns_registry_skipped_records_owner_mismatch_per_sync',
      'Number of records skipped because of an owner mismatch in the last sync, by record type.',
      byType(({ plan }) => plan.ownerMismatches),
    );
    gauge('external_dns_source_endpoints_total', 'Number of Endpoints in all sources', () => total(desired()));
    counter('external_dns_source_errors_total', 'Number of Source errors.', () => 0);
    gauge('external_dns_source_records', 'Number of source records, by record type.', () => typed(desired()));
    gauge(
      'external_dns_source_invalid_endpoints',
      'Number of endpoints that were rejected.',
      () => this.#desired.refusals.length,
    );
    counter('fairlead_publisher_changes_total', 'Names whose records were created, updated or deleted, by zone.', () =>
      [...this.#changes].map(([key, value]) => {
        const [zone = '', change = ''] = key.split(' ');
        return [{ zone, change }, value] as const;
      }),
    );
    for (const [call, what] of webhookCalls) {
      const name = `external_dns_webhook_provider_${call}`;
      gauge(`${name}_requests_total`, `Requests with ${what} call`, () => this.#webhookCalls.get(call)?.all ?? 0);
      gauge(`${name}_errors_total`, `Errors with ${what} call`, () => this.#webhookCalls.get(call)?.errors ?? 0);
    }
    counter('fairlead_publisher_dns_messages_total', 'DNS messages to and from servers.', () => this.#messages);
  }

  /** A message was sent or received. */
  readonly countMessage = (): void => void this.#messages++;

  /** A call to a webhook provider has ended. */
  readonly countWebhookCall = (call: WebhookCall, isError: boolean): void => {
    const { all, errors } = this.#webhookCalls.get(call) ?? { all: 0, errors: 0 };
    this.#webhookCalls.set(call, { all: all + 1, errors: errors + (isError ? 1 : 0) });
  };

  /** What is to exist, from now on. */
  desired(index: Pick<DesiredIndex, 'zones' | 'refusals'>): void {
    this.#desired = index;
    this.#zones.clear();
  }

  /** This replica does not publish any more. */
  stopped(): void {
    this.desired(nothing);
  }

  /** A sync of a zone begins. */
  began(nowMs: number): void {
    this.#reconciledAt = nowMs / 1000;
  }

  /** A zone was read and compared. */
  planned(zone: Name, content: ZoneContent, plan: ZonePlan): void {
    this.#zones.set(zone, { content, plan });
  }

  /** A change was applied. */
  changed(zone: Name, kind: string): void {
    const key = `${zone} ${kind}`;
    this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1);
  }

  /** A sync of a zone ended without an error. */
  synced(nowMs: number, hadChanges: boolean): void {
    this.#syncedAt = nowMs / 1000;
    this.#consecutiveErrors = 0;
    if (!hadChanges) this.#noOps++;
  }

  failed(): void {
    this.#consecutiveErrors++;
    this.#providerErrors++;
  }
}

/** The calls of the webhook protocol, and the words of ExternalDNS' help texts. */
const webhookCalls = [
  ['records', 'Records'],
  ['applychanges', 'ApplyChanges'],
  ['adjustendpoints', 'AdjustEndpoints'],
] as const;

const nothing = { zones: new Map(), refusals: [] };

function countTypes(sets: Iterable<Pick<RecordSet, 'type'>>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { type } of sets) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

function sum(all: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const each of all) for (const [type, count] of each) counts.set(type, (counts.get(type) ?? 0) + count);
  return counts;
}

const total = (counts: ReadonlyMap<string, number>): number => counts.values().reduce((all, count) => all + count, 0);

const typed = (counts: ReadonlyMap<string, number>): Samples =>
  [...counts].map(([type, count]) => [{ record_type: type.toLowerCase() }, count] as const);
