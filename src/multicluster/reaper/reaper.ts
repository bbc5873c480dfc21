import type { Logger } from 'pino';
import type { ClusterProperty } from '../../api/kinds/about/clusterproperty/kind.ts';
import { clusterIdProperty, clusterPropertyKind } from '../../api/kinds/about/clusterproperty/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events.ts';
import { Informer } from '../../client/informer.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { leaseName, leaseNamespace, leaseSelector, sourceOfLease } from '../lease/lease.ts';
import { lossPolicyOf } from '../loss.ts';
import { trimmed } from '../member/caches.ts';
import type { PulseTimes } from '../member/options.ts';
import { Pulse } from '../member/pulse.ts';
import { managedBy } from '../project/marks.ts';
import type { Judgement, ReaperPolicy, Sightings, SourceLease } from './judge.ts';
import { judge, look, withFullTime } from './judge.ts';
import type { ReaperMetrics } from './metrics.ts';
import { countStates } from './metrics.ts';

export interface ReaperSetup {
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: ReaperMetrics;
  readonly recorder: EventRecorder;
  readonly clock?: Clock | undefined;
  readonly policy: ReaperPolicy;
  readonly pulse: PulseTimes;
  /** How often everything is judged; default 1 s. */
  readonly resolutionMs?: number | undefined;
}

/** Deletions at once. */
const width = 8;

/**
 * Removes what came from source clusters that are lost (MCS-82, MCS-83). It is as simple as it can be, since it works when
 * the rest does not: it needs its own cluster alone, and never writes anything.
 */
export class Reaper {
  readonly #setup: ReaperSetup;
  readonly #clock: Clock;
  readonly #pulse: Pulse;
  readonly #slices: Informer<EndpointSlice, 'source'>;
  readonly #leases: Informer<Lease>;
  readonly #properties: Informer<ClusterProperty>;
  #epoch = new AbortController();
  #sightings: Sightings = new Map();
  #lookedAt = 0;
  /** Source → the last renewal that was seen, by its revision. */
  readonly #renewals = new Map<string, string | undefined>();
  /** Source → what was last said of it. */
  #told: ReadonlyMap<string, Judgement> = new Map();

  constructor(setup: ReaperSetup) {
    this.#setup = setup;
    const { client, clock = systemClock, log } = setup;
    this.#clock = clock;
    const common = { clock, onError: (error: unknown) => log.debug({ err: error }, 'a watch failed, will try again') };
    this.#pulse = new Pulse({
      ...setup.pulse,
      client,
      clock,
      onChange: (isBack) => isBack && this.#seesAgain(),
    });
    this.#slices = new Informer<EndpointSlice, 'source'>(client, endpointSliceKind, {
      ...common,
      labelSelector: `${managedByLabel}=${managedBy}`,
      trim: withoutContent,
      indexes: { source: (slice) => [sourceOf(slice)] },
    });
    this.#leases = new Informer(client, leaseKind, {
      ...common,
      namespace: leaseNamespace,
      labelSelector: leaseSelector,
      trim: trimmed,
    });
    this.#properties = new Informer(client, clusterPropertyKind, common);
  }

  /** Resolves when it has seen everything. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#slices.synced(signal), this.#leases.synced(signal)]);
  }

  /** How each source stands. */
  get judgements(): readonly Judgement[] {
    return judge(this.#sightings, this.#policy(), this.#clock.elapsed());
  }

  get problems(): readonly string[] {
    const { error } = this.#pulse;
    return [
      ...(this.#slices.hasSynced ? [] : ['the imported slices are not all seen yet']),
      ...(this.#leases.hasSynced ? [] : ['the leases of source clusters are not all seen yet']),
      ...(error instanceof Error ? [`the API server does not answer: ${error.message}`] : []),
    ];
  }

  /** Judges and removes until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const caches = [this.#slices, this.#leases, this.#properties].map((cache) => this.#fill(cache, signal));
    await Promise.all([...caches, this.#pulse.run(signal), this.#judgeOften(signal)]);
  }

  async #fill(cache: Pick<Informer<Lease>, 'run'>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await cache.run(AbortSignal.any([signal, this.#epoch.signal]));
  }

  async #judgeOften(signal: AbortSignal): Promise<void> {
    const { log, resolutionMs = 1000, metrics } = this.#setup;
    while (!signal.aborted) {
      if (this.#slices.hasSynced && this.#leases.hasSynced) {
        this.#look();
        // Without its own server it sees nothing and can remove nothing.
        const judgements = this.#pulse.state === 'alive' ? this.judgements : [];
        countStates(metrics, judgements);
        for (const judgement of judgements) {
          this.#tell(judgement);
          if (!judgement.isRemoved || this.#removable(judgement.source).length === 0) continue;
          try {
            await this.#remove(judgement, signal);
          } catch (error) {
            if (!signal.aborted)
              log.warn({ source: judgement.source, err: error }, 'could not remove slices, will try again');
          }
        }
      }
      await sleep(this.#clock, resolutionMs, signal);
    }
  }

  /** Checks all leases. A renewal that this process missed while it was paused does not count against the source. */
  #look(): void {
    const now = this.#clock.elapsed();
    const before = this.#clock.resumedAt() > this.#lookedAt ? withFullTime(this.#sightings, now) : this.#sightings;
    this.#sightings = look(before, this.#sources(), now);
    this.#lookedAt = now;
  }

  /** The sources of slices and this cluster itself, with what there is of their leases. */
  #sources(): ReadonlyMap<string, SourceLease> {
    const { durationMs } = this.#setup.pulse;
    const { own } = this.#policy();
    const sources = new Map<string, SourceLease>();
    for (const slice of this.#slices.list()) sources.set(sourceOf(slice), { renewal: undefined, durationMs });
    for (const lease of this.#leases.list()) {
      const source = sourceOfLease(lease);
      // The lease of a source that exports nothing any more is not renewed, and that means nothing.
      if (source !== undefined && (source === own || sources.has(source))) {
        sources.set(source, sightingOf(lease, durationMs));
      }
    }
    return sources;
  }

  #policy(): ReaperPolicy {
    const { policy } = this.#setup;
    return { ...policy, own: policy.own ?? this.#properties.get(clusterIdProperty)?.spec?.value };
  }

  /** Removes the slices of a source, after a last look at its lease that must reach the server. */
  async #remove({ source, why }: Judgement, signal: AbortSignal): Promise<void> {
    const { client, log, metrics } = this.#setup;
    const { renewal } = this.#sightings.get(source) ?? {};
    const lease = await client.find(leaseKind, { namespace: leaseNamespace, name: leaseName(source) }, { signal });
    if (lease?.metadata.resourceVersion !== renewal) return; // renewed meanwhile: the watch is late
    const slices = this.#removable(source);
    log.warn({ source, slices: slices.length, why }, 'a source cluster is lost: its endpoints are removed');
    for (let start = 0; start < slices.length && !signal.aborted; start += width) {
      this.#look();
      if (!this.judgements.some((each) => each.source === source && each.isRemoved)) return;
      await Promise.all(slices.slice(start, start + width).map((slice) => this.#removeOne(slice, signal)));
      metrics.removed.inc({ source }, Math.min(width, slices.length - start));
    }
  }

  async #removeOne({ metadata }: EndpointSlice, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid = '', resourceVersion = '' } = metadata;
    try {
      const preconditions = { uid, resourceVersion };
      await this.#setup.client.delete(endpointSliceKind, { namespace, name }, { signal, preconditions });
    } catch (error) {
      // It was written meanwhile: whoever did knows more than we do.
      if (!hasStatusCode(error, 409)) throw error;
    }
  }

  /** The slices of a source, but for those that are to stay whatever becomes of it. */
  #removable(source: string): readonly EndpointSlice[] {
    return this.#slices.by('source', source).filter((slice) => lossPolicyOf([slice]) !== 'Keep');
  }

  #seesAgain(): void {
    this.#sightings = withFullTime(this.#sightings, this.#clock.elapsed());
    // Streams that lived through a break of the line may be dead and not know it.
    this.#epoch.abort(new Error('the connection was interrupted'));
    this.#epoch = new AbortController();
  }

  /** Says when the state of a source changes. */
  #tell(judgement: Judgement): void {
    const { source, state, why } = judgement;
    const { log, metrics, recorder } = this.#setup;
    const sighting = this.#sightings.get(source);
    if (sighting !== undefined) metrics.age.set({ source }, (this.#clock.elapsed() - sighting.atMs) / 1000);
    const lease = this.#leases.get(`${leaseNamespace}/${leaseName(source)}`);
    const renewedAt = Date.parse(lease?.spec.renewTime ?? '');
    const renewal = this.#renewals.get(source);
    this.#renewals.set(source, sighting?.renewal);
    // A lease that was there before this process may have been renewed long ago.
    if (renewal !== undefined && renewal !== sighting?.renewal && !Number.isNaN(renewedAt)) {
      metrics.skew.set({ source }, (renewedAt - this.#clock.now()) / 1000);
    }
    const before = this.#told.get(source)?.state ?? 'healthy';
    this.#told = new Map([...this.#told, [source, judgement]]);
    if (before === state) return;
    log.warn({ source, before, state, why }, 'the state of a source cluster changed');
    if (lease === undefined) return;
    recorder.record(leaseKind, lease, {
      type: state === 'healthy' ? 'Normal' : 'Warning',
      reason: state === 'healthy' ? 'SourceReturned' : state === 'suspect' ? 'SourceSuspect' : 'SourceExpired',
      message: `source cluster ${source} is ${state}${why === '' ? '' : `: ${why}`}`,
    });
  }
}

const sourceOf = ({ metadata }: EndpointSlice): string => metadata.labels?.[sourceClusterLabel] ?? '';

const sightingOf = ({ metadata, spec }: Lease, durationMs: number): SourceLease => ({
  renewal: metadata.resourceVersion,
  durationMs: spec.leaseDurationSeconds === undefined ? durationMs : spec.leaseDurationSeconds * 1000,
});

/** Where a slice came from is all that is asked of it. */
const withoutContent = ({ metadata, addressType }: EndpointSlice): EndpointSlice => ({
  metadata: trimmed({ metadata }).metadata,
  addressType,
  endpoints: [],
  ports: [],
});
