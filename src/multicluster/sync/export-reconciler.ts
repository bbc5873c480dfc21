// Reconciles the exports of one cluster: their finalizers, and conditions that report the delivery to each member.
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import type { Member } from '../member/member.ts';
import { revisionOf } from '../member/mutation-cache.ts';
import { unreadableReason } from '../member/unreadable.ts';
import { isInAudience, unknownIn } from '../merge/audience.ts';
import type { Exporter } from '../merge/merged.ts';
import { holdsNothingOf, unknownMemberIn } from '../project/delivery.ts';
import type { Delivery } from '../project/export-conditions.ts';
import type { Progress } from '../project/exports.ts';
import { diffExports, diffLeavingExports, isReportedExported } from '../project/exports.ts';
import { isOurSlice } from '../project/labels.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf } from '../record.ts';
import type { DeliveryStates } from './delivery-state.ts';
import { isSettled } from './delivery-state.ts';
import type { ImportOutcome } from './import-reconciler.ts';
import { LagGrace } from './lag-grace.ts';
import type { Membership } from './membership.ts';
import { problemOf } from './membership.ts';
import type { SyncMetrics } from './metrics.ts';
import type { Services } from './services.ts';

export interface ExportReconcilerOptions {
  readonly services: Services;
  readonly membership: Membership;
  readonly states: DeliveryStates;
  readonly metrics: SyncMetrics;
  readonly clock: Clock;
}

/** The slices of an export that were not read yet arrive by the watch of the source; this retries in case they do not. */
const incompleteMs = 1000;

/** The finalizer, then the conditions. */
const mostSteps = 3;

/** Reconciles the finalizers and conditions of the exports that one cluster has of one service. */
export class ExportReconciler {
  readonly #options: ExportReconcilerOptions;
  readonly #grace: LagGrace;

  constructor(options: ExportReconcilerOptions) {
    this.#options = options;
    this.#grace = new LagGrace(options.clock);
  }

  beginTerm(): void {
    this.#grace.beginTerm();
  }

  delete(key: Key): void {
    this.#grace.delete(key);
  }

  /**
   * Whether the exports of a service have to be reconciled after an import was. The last member with a result causes it:
   * a status after each member would be as many writes as there are members.
   */
  dependsOn(key: Key, { affectsExports, mayBeWithdrawn }: ImportOutcome): boolean {
    return (affectsExports && !this.#awaitsImporters(key)) || (mayBeWithdrawn && this.#isLeaving(key));
  }

  /** Writes the finalizers, then the conditions. Returns when to reconcile again; 0: not before something changes. */
  async reconcile(member: Member, key: Key, signal: AbortSignal): Promise<number> {
    if (member.options.isLeaving === true) {
      await this.#release(member, key, signal);
      return 0;
    }
    if (!member.isExported(key)) return 0;
    // An export that is being deleted waits only for the removal of its imports.
    const isWaiting = !this.#isLeaving(key) && this.#awaitsImporters(key);
    if (!isWaiting) this.#grace.delete(key);
    const leftMs = isWaiting ? this.#grace.leftMs(key) : 0;
    if (leftMs > 0) return leftMs;
    const isComplete = await this.#isComplete(member, key, signal);
    await this.#write({ member, key, isComplete }, signal);
    if (isWaiting) return this.#grace.requeueAfterMs(key);
    return isComplete ? 0 : incompleteMs;
  }

  async #write(
    { member, key, isComplete }: { readonly member: Member; readonly key: Key; readonly isComplete: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { services, metrics } = this.#options;
    for (let step = 0; step < mostSteps; step++) {
      // Read again in each step: an export that was deleted meanwhile must not lose its finalizer because of an old state.
      const merged = services.seenBy(key, member.id);
      const exporter = merged.exporters.find(({ cluster }) => cluster === member.id);
      const record = member.record(key);
      if (exporter === undefined || record === undefined) return;
      const progress = this.#progress(exporter, key, isComplete);
      const writes = diffExports(merged, { ...exporter, record }, progress);
      const dropped = services.dropped(key).filter(({ cluster }) => cluster === member.id);
      if (step === 0) member.exportEvents.recordDropped(record, dropped);
      if (writes.length === 0) return;
      for (const write of writes) {
        await member.apply(write, signal);
        metrics.countWrite(member.id, write);
        if (write.verb === 'updateStatus')
          member.exportEvents.recordConditions(write.kind, { record, now: write.object }, progress);
      }
    }
  }

  #progress(exporter: Exporter, key: Key, isComplete: boolean): Progress {
    const { states, membership, clock } = this.#options;
    const staying = membership.all().filter((each) => each.member.options.isLeaving !== true);
    const targets = staying.map((each) => ({
      cluster: each.member.id,
      isConcerned: each.member.concerns(key),
      isExcluded: !isInAudience(exporter, { id: each.member.id, labels: each.member.options.labels }),
      connection: each.member.probe.state,
      rejection: problemOf(each),
      unreadable: unreadableReason(each.member),
    }));
    const deliveries = states.deliveries(key, exporter.cluster, targets);
    const known = new Set(membership.members.map(({ id }) => id));
    return {
      deliveries: [
        ...(isComplete ? deliveries : deliveries.map(withoutAcknowledgement)),
        ...unknownIn(exporter.record, known).map(unknownMemberIn),
      ],
      isWithdrawn: this.#isLeaving(key) && isWithdrawn(key, exporter.cluster, membership.participating()),
      now: timestamp(clock.now()),
    };
  }

  /** Members that import services. */
  #importers(): readonly Member[] {
    return this.#options.membership.participating().filter(({ options }) => options.isLeaving !== true);
  }

  /** Whether a member that can be written to has no result yet. */
  #awaitsImporters(key: Key): boolean {
    const { states } = this.#options;
    return this.#importers().some((each) => each.isReady && each.concerns(key) && !isSettled(states.get(key, each.id)));
  }

  /** Whether an export of the service is being deleted. */
  #isLeaving(key: Key): boolean {
    return this.#options.services.get(key).exporters.some(({ verdict }) => verdict.state === 'leaving');
  }

  /**
   * Whether the cache has everything that a cluster exports of a service: the watch of exports may be ahead of the watch of
   * slices. One request to the cluster per export checks that, so that no export is reported before its endpoints were read.
   */
  async #isComplete(member: Member, key: Key, signal: AbortSignal): Promise<boolean> {
    const { services, states } = this.#options;
    const record = member.record(key);
    const exporter = services.get(key).exporters.find(({ cluster }) => cluster === member.id);
    if (record === undefined || exporter?.verdict.state !== 'valid' || isReportedExported(record)) return true;
    const uid = uidsOf(record);
    if (states.isComplete(key, member.id, uid)) return true;
    if (!(await hasCurrentSlices(member, key, signal))) return false;
    services.get(key);
    states.setComplete(key, member.id, { uid, version: services.version(key) });
    return true;
  }

  /** Writes the last conditions of the exports of a cluster that leaves the set. */
  async #release(member: Member, key: Key, signal: AbortSignal): Promise<void> {
    for (let step = 0; step < mostSteps; step++) {
      const record = member.record(key);
      const now = timestamp(this.#options.clock.now());
      const writes = record === undefined ? [] : diffLeavingExports(record, { cluster: member.id, now });
      if (writes.length === 0) return;
      for (const write of writes) await member.apply(write, signal);
    }
  }
}

const uidsOf = (record: ClusterExport): string =>
  exportsOf(record)
    .map(({ metadata }) => metadata.uid)
    .join();

/** No member can have everything of an export that was not read completely. */
const withoutAcknowledgement = (delivery: Delivery): Delivery =>
  delivery.state === 'acknowledged' ? { ...delivery, state: 'pending' } : delivery;

/**
 * Whether no member but those that are lost holds anything of a source. A member that is silent is not lost, and one that
 * was not read may hold something.
 */
const isWithdrawn = (key: Key, source: string, members: readonly Member[]): boolean =>
  members
    .filter((member) => member.probe.state !== 'lost' && member.concerns(key))
    .every((member) => member.caches.isRead && holdsNothingOf(source, member.actual(key)));

/** Lists the slices of a service in its cluster, and returns whether the cache has each in that revision or a later one. */
export async function hasCurrentSlices(member: Member, key: Key, signal: AbortSignal): Promise<boolean> {
  const { namespace, name } = nameFor(key);
  const labelSelector = `${serviceNameLabel}=${name}`;
  const { items } = await member.withTimeout(signal, (deadline) =>
    member.client.list(endpointSliceKind, { namespace, labelSelector, signal: deadline }),
  );
  const cached = member.caches.slices.by('service', key);
  const revisions = new Map(cached.map((slice) => [slice.metadata.uid, revisionOf(slice)]));
  return items
    .filter((slice) => !isOurSlice(slice))
    .every((slice) => (revisions.get(slice.metadata.uid) ?? -1) >= revisionOf(slice));
}
