import type { Logger } from 'pino';
import { clusterIdProperty, clusterPropertyKind } from '../../api/kinds/about/clusterproperty/kind.ts';
import type { ClusterProperty } from '../../api/kinds/about/clusterproperty/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { runElectedPart } from '../../client/part.ts';
import { EventRecorder } from '../../client/events.ts';
import type { Informer } from '../../client/informer.ts';
import { Informers } from '../../client/informers.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import type { PartContext, RunningPart } from '../../client/part.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { leaseName, leaseNamespace, leaseSelector, sourceOfLease } from '../lease/lease.ts';
import { lossPolicyOf } from '../record.ts';
import type { ProbeTimes } from '../member/options.ts';
import { defaultSourceLeaseMs, probeTimesOf } from '../member/options.ts';
import { HealthProbe } from '../member/health-probe.ts';
import { managedBy } from '../project/labels.ts';
import type { LeaseObservations, ReaperPolicy, SourceLease, SourceStatus } from './evaluate.ts';
import { evaluateSources, observe, restartTimers } from './evaluate.ts';
import type { ReaperMetrics } from './metrics.ts';
import { countStates, reaperMetrics } from './metrics.ts';

export interface ReaperOptions extends ReaperPolicy {
  /** The lease duration of sources whose Lease has none, and the probe interval of the own API server. */
  readonly probeTimes?: ProbeTimes | undefined;
  /** How often all sources are evaluated; default 1 s. */
  readonly resolutionMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Deletes the imported slices of source clusters whose leases are not renewed, in one cluster, until it is disposed of. */
export function startReaper(context: PartContext, options: ReaperOptions = {}): RunningPart {
  const { client, log, metrics } = context;
  const { clock = systemClock } = options;
  const informers = new Informers({ client, log, clock });
  const recorder = new EventRecorder({
    client,
    component: 'fairlead-reaper',
    clock,
    log,
  });
  const reaper = new Reaper({ client, log, informers, recorder, metrics: reaperMetrics(metrics), clock, options });
  informers.start();
  return runElectedPart({
    context,
    informers,
    election: undefined, // one runs in every cluster
    clock,
    lead: (signal) => reaper.run(signal),
    problems: () => reaper.problems(),
    recorders: () => [recorder],
  });
}

interface ReaperSetup {
  readonly client: Client;
  readonly log: Logger;
  readonly informers: Informers;
  readonly recorder: EventRecorder;
  readonly metrics: ReaperMetrics;
  readonly clock: Clock;
  readonly options: ReaperOptions;
}

/** Slices that are deleted at once. */
const parallelDeletions = 8;

/**
 * Deletes the slices of lost source clusters (MCS-82, MCS-83). It must work when everything else is down: it depends on
 * the API server of its own cluster alone, and only deletes.
 */
class Reaper {
  readonly #setup: ReaperSetup;
  readonly #clock: Clock;
  readonly #times: ProbeTimes;
  readonly #probe: HealthProbe;
  readonly #slices: Informer<EndpointSlice, 'source'>;
  readonly #leases: Informer<Lease>;
  readonly #properties: OptionalInformer<ClusterProperty>;
  #observations: LeaseObservations = new Map();
  #observedAtMs = 0;
  /** Source → the revision of its lease at the last report. */
  readonly #revisions = new Map<string, string | undefined>();
  /** Source → its state at the last report. */
  readonly #states = new Map<string, SourceStatus['state']>();

  constructor(setup: ReaperSetup) {
    const { client, clock, informers, options } = setup;
    this.#setup = setup;
    this.#clock = clock;
    this.#times = options.probeTimes ?? probeTimesOf(defaultSourceLeaseMs);
    this.#probe = new HealthProbe({
      ...this.#times,
      client,
      clock,
      onChange: (isBack) => isBack && this.#reconnected(),
    });
    this.#slices = informers.of<EndpointSlice, 'source'>(endpointSliceKind, {
      labelSelector: `${managedByLabel}=${managedBy}`,
      trim: withoutEndpoints,
      indexes: { source: (slice) => [sourceOf(slice)] },
    });
    this.#leases = informers.of(leaseKind, { namespace: leaseNamespace, labelSelector: leaseSelector });
    this.#properties = informers.optional([clusterPropertyKind]);
  }

  problems(): readonly string[] {
    const { error } = this.#probe;
    return error instanceof Error ? [`the API server does not answer: ${error.message}`] : [];
  }

  /** Evaluates all sources periodically, and deletes the slices of lost ones, until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#probe.run(signal), this.#evaluateUntil(signal)]);
  }

  async #evaluateUntil(signal: AbortSignal): Promise<void> {
    const { log, metrics, options } = this.#setup;
    while (!signal.aborted) {
      if (this.#slices.hasSynced && this.#leases.hasSynced) {
        this.#observe();
        // Without its own API server the reaper observes no renewal and can delete nothing.
        const sources = this.#probe.state === 'alive' ? this.#evaluate() : [];
        countStates(metrics, sources);
        for (const status of sources) {
          this.#report(status);
          if (!status.isRemoved || this.#removable(status.source).length === 0) continue;
          try {
            await this.#remove(status, signal);
          } catch (error) {
            if (!signal.aborted) log.warn({ source: status.source, err: error }, 'could not delete slices, retrying');
          }
        }
      }
      await sleep(this.#clock, options.resolutionMs ?? 1000, signal);
    }
  }

  #evaluate(): readonly SourceStatus[] {
    return evaluateSources(this.#observations, this.#policy(), this.#clock.elapsed());
  }

  /** Reads all leases from the cache. A renewal that was missed while this process was paused does not count. */
  #observe(): void {
    const now = this.#clock.elapsed();
    const wasPaused = this.#clock.resumedAt() > this.#observedAtMs;
    const before = wasPaused ? restartTimers(this.#observations, now) : this.#observations;
    this.#observations = observe(before, this.#sources(), now);
    this.#observedAtMs = now;
  }

  /** The sources of all slices and the own cluster, with their leases. */
  #sources(): ReadonlyMap<string, SourceLease> {
    const { durationMs } = this.#times;
    const { own } = this.#policy();
    const sources = new Map<string, SourceLease>();
    for (const slice of this.#slices.list()) sources.set(sourceOf(slice), { revision: undefined, durationMs });
    for (const lease of this.#leases.list()) {
      const source = sourceOfLease(lease);
      // The lease of a source without slices here is ignored: it may rightly not be renewed.
      if (source === undefined || (source !== own && !sources.has(source))) continue;
      const { leaseDurationSeconds } = lease.spec;
      sources.set(source, {
        revision: lease.metadata.resourceVersion,
        durationMs: leaseDurationSeconds === undefined ? durationMs : leaseDurationSeconds * 1000,
      });
    }
    return sources;
  }

  #policy(): ReaperPolicy {
    const { options } = this.#setup;
    return { ...options, own: options.own ?? this.#properties.get(clusterIdProperty)?.spec?.value };
  }

  /** Deletes the slices of a source, after reading its lease from the API server once more. */
  async #remove({ source, reason }: SourceStatus, signal: AbortSignal): Promise<void> {
    const { client, log, metrics } = this.#setup;
    const { revision } = this.#observations.get(source) ?? {};
    const lease = await client.find(leaseKind, { namespace: leaseNamespace, name: leaseName(source) }, { signal });
    if (lease?.metadata.resourceVersion !== revision) return; // renewed, and the watch is late
    const slices = this.#removable(source);
    log.warn({ source, slices: slices.length, reason }, 'source cluster lost, deleting its endpoints');
    for (let start = 0; start < slices.length && !signal.aborted; start += parallelDeletions) {
      this.#observe();
      if (!this.#evaluate().some((each) => each.source === source && each.isRemoved)) return;
      const batch = slices.slice(start, start + parallelDeletions);
      await Promise.all(batch.map((slice) => this.#removeOne(slice, signal)));
      metrics.removed.inc({ source }, batch.length);
    }
  }

  async #removeOne({ metadata }: EndpointSlice, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid = '', resourceVersion = '' } = metadata;
    try {
      const preconditions = { uid, resourceVersion };
      await this.#setup.client.delete(endpointSliceKind, { namespace, name }, { signal, preconditions });
    } catch (error) {
      // A conflict means the controller has just written the slice, so its source is not lost.
      if (!hasStatusCode(error, 409)) throw error;
    }
  }

  /** The slices of a source without the loss policy Keep. */
  #removable(source: string): readonly EndpointSlice[] {
    return this.#slices.by('source', source).filter((slice) => lossPolicyOf([slice]) !== 'Keep');
  }

  /** Restarts the watches too: a stream that survived an interruption may be dead. */
  #reconnected(): void {
    this.#observations = restartTimers(this.#observations, this.#clock.elapsed());
    this.#setup.informers.reopen();
  }

  /** Updates the metrics of a source; logs and records an Event when its state changes. */
  #report({ source, state, reason }: SourceStatus): void {
    const { log, metrics, recorder } = this.#setup;
    const observation = this.#observations.get(source);
    if (observation !== undefined) {
      metrics.age.set({ source }, (this.#clock.elapsed() - observation.observedAtMs) / 1000);
    }
    const lease = this.#leases.get(`${leaseNamespace}/${leaseName(source)}`);
    const renewedAt = Date.parse(lease?.spec.renewTime ?? '');
    const revision = this.#revisions.get(source);
    this.#revisions.set(source, observation?.revision);
    // A lease that existed before this process started may have been renewed long ago.
    if (revision !== undefined && revision !== observation?.revision && !Number.isNaN(renewedAt)) {
      metrics.skew.set({ source }, (renewedAt - this.#clock.now()) / 1000);
    }
    const before = this.#states.get(source) ?? 'healthy';
    this.#states.set(source, state);
    if (before === state) return;
    log.warn({ source, before, state, reason }, 'state of a source cluster changed');
    if (lease === undefined) return;
    recorder.record(leaseKind, lease, {
      type: state === 'healthy' ? 'Normal' : 'Warning',
      reason: state === 'healthy' ? 'SourceReturned' : state === 'suspect' ? 'SourceSuspect' : 'SourceExpired',
      message: `source cluster ${source} is ${state}${reason === '' ? '' : `: ${reason}`}`,
    });
  }
}

const sourceOf = ({ metadata }: EndpointSlice): string => metadata.labels?.[sourceClusterLabel] ?? '';

/** Keeps the metadata, which is all the reaper reads. */
const withoutEndpoints = ({ metadata, addressType }: EndpointSlice): EndpointSlice => ({
  metadata,
  addressType,
  endpoints: [],
  ports: [],
});
