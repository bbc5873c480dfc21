import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import type { SetRules } from '../guard/policy.ts';
import type { ConflictPolicy } from '../merge/merged.ts';
import type { MemberCaches } from '../member/caches.ts';
import { memberErrorLevel } from '../member/error-level.ts';
import type { MemberListener } from '../member/events.ts';
import type { GatewayProblem } from '../member/keys.ts';
import { gatewayProblemOf, keysIn, overlapIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import { exportFinalizer, isOurs, isOurSlice } from '../project/labels.ts';
import type { DeletionLimits } from '../../client/deletion-limiter.ts';
import { DeliveryStates } from './delivery-state.ts';
import { ExportReconciler } from './export-reconciler.ts';
import type { DrainProgress } from '../project/drain.ts';
import { drainProgress, isReplaced } from './drain.ts';
import { desiredIn, ImportReconciler } from './import-reconciler.ts';
import { MemberQueues } from './member-queues.ts';
import { logChanges } from './log-changes.ts';
import type { Participant } from './membership.ts';
import { announce, Membership, observedOf, problemOf } from './membership.ts';
import type { SyncMetrics } from './metrics.ts';
import { syncMetrics } from './metrics.ts';
import { ServiceQueues } from './service-queues.ts';
import { Services } from './services.ts';
import { yieldToEventLoop } from './yield-to-event-loop.ts';

export interface SyncOptions {
  readonly log: Logger;
  readonly metrics: Registry;
  readonly clock?: Clock | undefined;
  /** What a conflict does to the ImportedService; default Withdraw. */
  readonly conflictPolicy?: ConflictPolicy | undefined;
  /** Namespaces from which no cluster may export; default none. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  /** The first change of a service is written at once, later ones within this time together; default 100 ms. */
  readonly windowMs?: number | undefined;
  readonly deletionLimits?: DeletionLimits | undefined;
  /** The name of the set in ClusterProperties; default `fairlead`. */
  readonly setName?: string | undefined;
  /** Whether another controller writes to the same members; default false. */
  readonly hasOtherWriters?: () => boolean;
  /** Called when a member that this controller writes to was adopted. Must not reject. */
  readonly onJoined?: (member: Member, signal: AbortSignal) => Promise<void>;
}

/** When to retry the adoption of a member. */
const readoptMs = 1000;

/**
 * Reconciles all members with the exports of all members:
 *
 *     event of a member ─► services ─► import queue of each member ─► ImportReconciler ─► imports, slices
 *                                  └─► export queue of each exporter ─► ExportReconciler ─► conditions, finalizers
 *                                               ▲ affectsExports, from the result of an import
 *
 * This class decides what is enqueued, ServiceQueues where. The reconcilers read the caches, write, and return what depends on the result;
 * they never enqueue anything, so that any number of runs in any order leads to the same state.
 */
export class Sync {
  readonly services: Services;
  readonly #metrics: SyncMetrics;
  readonly #options: SyncOptions;
  readonly #clock: Clock;
  readonly #membership = new Membership();
  /** The results of this term. */
  readonly #states = new DeliveryStates();
  readonly #imports: ImportReconciler;
  readonly #exports: ExportReconciler;
  readonly #queues: ServiceQueues;
  readonly #turn = yieldToEventLoop();
  #term: AbortSignal | undefined;
  /** The rules by which all services were enqueued last. */
  #rules: SetRules | undefined;
  #isRangeCheckDue = false;

  constructor(options: SyncOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { log, windowMs = 100, deletionLimits = {} } = options;
    const clock = this.#clock;
    this.services = new Services({
      members: () => this.#membership.participating(),
      conflictPolicy: options.conflictPolicy ?? 'Withdraw',
      deniedNamespaces: options.deniedNamespaces,
      clock,
      hasOtherWriters: options.hasOtherWriters ?? (() => false),
      onDenials: (keys) => {
        for (const key of keys) this.#sourceChanged(key);
      },
    });
    this.#metrics = syncMetrics(options.metrics, {
      services: () => [...this.services.keys()].length,
      conflicts: () => [...this.services.keys()].filter((key) => this.services.conflicts(key).length > 0).length,
      excessive: () => new Map(this.members.map(({ id, caches }) => [id, caches.excess !== undefined])),
      clockSkewsMs: () =>
        new Map(
          this.members.flatMap(({ id, probe: { clockSkewMs } }) =>
            clockSkewMs === undefined ? [] : [[id, clockSkewMs]],
          ),
        ),
      answeredInMs: () => new Map(this.members.map(({ id, probe }) => [id, probe.latencyMs])),
      dropped: () => this.services.droppedOf(),
      waiting: () => this.#queues.lengths,
    });
    const shared = { services: this.services, membership: this.#membership, states: this.#states, clock };
    this.#imports = new ImportReconciler({ ...shared, metrics: this.#metrics, log, deletionLimits });
    this.#exports = new ExportReconciler({ ...shared, metrics: this.#metrics });
    const common = { clock, log, windowMs };
    this.#queues = new ServiceQueues({
      services: this.services,
      membership: this.#membership,
      imports: new MemberQueues({
        ...common,
        controller: 'imports',
        reconcile: (member, key, signal) => this.#reconcileImport(member, key, signal),
        onFailure: (member, key, failure) => {
          const isResult = this.#states.apply(key, member.id, { type: 'failed', ...failure });
          if (isResult) this.#queues.enqueueExports(key);
        },
      }),
      exports: new MemberQueues({
        ...common,
        controller: 'exports',
        reconcile: (member, key, signal) => this.#reconcileExport(member, key, signal),
      }),
    });
  }

  get members(): readonly Member[] {
    return this.#membership.members;
  }

  /** Members that take part. */
  get participating(): readonly Member[] {
    return this.#membership.participating();
  }

  /** A sentence for each member that does not take part, and for each source whose deletions are delayed. */
  problems(): readonly string[] {
    const held = this.members.flatMap((member) =>
      this.#imports
        .heldIn(member)
        .map((source) => `too much of ${source} would be deleted in ${member.id} at once: deletions are delayed`),
    );
    return [...this.#membership.all().flatMap((each) => problemOf(each) ?? []), ...held];
  }

  /** Why a member does not take part; undefined: it does. */
  rejection(id: string): { readonly reason: string; readonly message: string } | undefined {
    const participant = this.#membership.get(id);
    const message = participant && problemOf(participant);
    return message === undefined ? undefined : { reason: 'IdentityConflict', message };
  }

  /** The number of services that wait to be written to a member. */
  waiting(id: string): number {
    return this.#queues.lengths.get(id) ?? 0;
  }

  /** Why the Pods of a member cannot be routed; undefined: they can. */
  overlap(id: string): string | undefined {
    return overlapIn(this.participating, id);
  }

  /** Why other clusters cannot use the gateway of a member; undefined: they can, or reach it in another way. */
  gatewayProblem(id: string): GatewayProblem | undefined {
    return gatewayProblemOf(this.participating, id);
  }

  /** How far the traffic of a draining member has moved to others. */
  drain(id: string): DrainProgress {
    const states = this.#membership.byState();
    return drainProgress(id, this.participating, (key, member) => {
      const merged = this.services.getFor(key, member);
      return isReplaced(id, desiredIn({ key, merged, member, mirrors: member.mirrors, ...states }).desired);
    });
  }

  /** Resolves to whether a member that leaves has nothing of the set any more. */
  async withdraw(member: Member, signal: AbortSignal): Promise<boolean> {
    const participant = this.#membership.get(member.id);
    const { isLeaving, isReadOnly } = member.options;
    if (participant?.member !== member || isLeaving !== true) return false;
    if (isReadOnly === true) return true; // another controller withdraws it
    if (!this.#membership.canReconcile(member) || hasRemains(member)) return false;
    await announce(participant, this.#options.setName ?? 'fairlead', signal);
    await this.#options.onJoined?.(member, signal);
    return true;
  }

  /**
   * Adds a member with the listener from `listenerFor`. It replaces one with the same id at once: until it has been read
   * its exports are unknown, so that what came from the cluster stays. Resolves when the old one is no longer written to.
   */
  async add(member: Member): Promise<void> {
    const closed = this.#queues.close(member.id);
    this.#membership.add(member);
    if (this.#term !== undefined) this.#queues.open(member, this.#term);
    this.#stateChanged(member.id);
    this.#importersChanged();
    await closed;
  }

  /** Enqueues what depends on the options of a member, which have changed. */
  reconfigured(member: Member): void {
    this.#membership.invalidate();
    this.#queues.enqueueRelatedTo(member);
    this.#importersChanged();
  }

  /** Removes a member: what came from it is removed from the others. */
  async remove(id: string): Promise<void> {
    const member = this.#membership.get(id)?.member;
    if (member === undefined) return;
    const closed = this.#queues.close(id);
    this.#membership.remove(id);
    this.#metrics.connected.remove({ cluster: id });
    this.#checkRanges();
    for (const key of keysIn(member)) this.#sourceChanged(key);
    await closed;
    this.#states.deleteMember(id); // reconciles that were running have set their states until now
    this.#queues.enqueueRelatedTo(member);
    this.#importersChanged();
  }

  /** The listener for the member with this id. */
  listenerFor(id: string): MemberListener {
    return {
      source: (key) => this.#sourceChanged(key),
      target: (key) => this.#queues.enqueueImport(id, key),
      gateways: () => this.#gatewaysChanged(id),
      namespace: (name) => this.#namespaceChanged(id, name),
      state: () => this.#stateChanged(id),
    };
  }

  /** Reconciles until the signal fires, and resolves when nothing runs any more. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#term = signal;
    // Another leader may have changed everything since the last term.
    this.#states.clear();
    this.#imports.beginTerm();
    this.#exports.beginTerm();
    for (const member of this.members) this.#queues.open(member, signal);
    this.#compareAll(); // adopts the members that are ready, which enqueues everything in them
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#term = undefined;
    await this.#queues.closeAll();
    for (const participant of this.#membership.all()) participant.adoption = 'Pending';
  }

  async #reconcileImport(member: Member, key: Key, signal: AbortSignal): Promise<Outcome> {
    await this.#turn();
    if (!this.#membership.canReconcile(member)) return;
    if (this.services.isOutOfOrder(key)) this.#sourceChanged(key);
    const outcome = await this.#imports.reconcile(member, key, signal);
    if (outcome.isDeleted) this.#exports.delete(key);
    else if (this.#exports.dependsOn(key, outcome)) this.#queues.enqueueExports(key);
    const { keys, members } = outcome.unblocked;
    for (const id of members) for (const each of keys) this.#queues.enqueueImport(id, each);
    return requeue(outcome.requeueAfterMs);
  }

  async #reconcileExport(member: Member, key: Key, signal: AbortSignal): Promise<Outcome> {
    await this.#turn();
    if (!this.#membership.canReconcile(member)) return;
    return requeue(await this.#exports.reconcile(member, key, signal));
  }

  /** Enqueues a service after an export, or what it exports, has changed. */
  #sourceChanged(key: Key): void {
    this.services.changed(key);
    for (const member of this.#queues.importers(key)) {
      this.#imports.observeChange(member, key);
      this.#queues.enqueueImport(member.id, key);
    }
    this.#queues.enqueueExports(key);
  }

  /** Enqueues what is reached by the gateway of a member, or leaves it by that. */
  #gatewaysChanged(id: string): void {
    const member = this.#membership.get(id)?.member;
    if (member === undefined) return;
    if (member.options.addressMode === 'gateway') for (const key of keysIn(member)) this.#sourceChanged(key);
    for (const key of this.services.known()) this.#queues.enqueueImport(id, key);
  }

  /** Enqueues the exports of members with gateways, which are told who may import them. */
  #importersChanged(): void {
    for (const member of this.members) if (member.options.addressMode === 'gateway') this.#queues.enqueueAllIn(member);
  }

  #namespaceChanged(id: string, name: string): void {
    for (const key of this.services.known()) if (key.startsWith(`${name}/`)) this.#queues.enqueueIn(id, key);
  }

  #stateChanged(id: string): void {
    this.#membership.checkIdentities();
    this.#checkRanges();
    const participant = this.#membership.get(id);
    if (participant !== undefined) this.#compare(participant);
  }

  /** Enqueues every service if the address ranges of members have changed. */
  #checkRanges(): void {
    this.services.rangesChanged();
    if (this.#isRangeCheckDue) return;
    this.#isRangeCheckDue = true;
    this.#clock.after(0, () => {
      this.#isRangeCheckDue = false;
      const { rules } = this.services;
      if (rules === this.#rules) return;
      this.#rules = rules;
      for (const key of this.services.known()) this.#sourceChanged(key);
    });
  }

  #compareAll(): void {
    this.#membership.checkIdentities();
    for (const participant of this.#membership.all()) this.#compare(participant);
  }

  /**
   * Enqueues what depends on a member that was read, is lost or returned. After a moment of silence only the member itself
   * is reconciled, and services that use its endpoints last while it is silent.
   */
  #compare(participant: Participant): void {
    const { member, observed: before } = participant;
    const now = observedOf(participant);
    participant.observed = now;
    logChanges(this.#options.log, member, { before, now });
    this.#metrics.connected.set({ cluster: member.id }, now.isReady ? 1 : 0);
    if (now.isReady && participant.adoption === 'Pending' && this.#term !== undefined)
      void this.#adopt(participant, this.#term); // handles its errors
    if (now.shared !== before.shared) return this.#queues.enqueueRelatedTo(member);
    if (now.isReady && !before.isReady) this.#queues.enqueueAllIn(member);
    if ((now.state === 'silent') === (before.state === 'silent')) return;
    // Endpoints of a draining cluster return when those that replace them do not answer.
    const isDraining = this.#membership.byState().draining.size > 0;
    for (const key of keysIn(member))
      if (isDraining || member.record(key)?.onLoss === 'Demote') this.#queues.enqueueImports(key);
  }

  async #adopt(participant: Participant, signal: AbortSignal): Promise<void> {
    const { log, setName = 'fairlead', onJoined } = this.#options;
    const { member } = participant;
    const { id } = member;
    participant.adoption = 'Running';
    try {
      await this.#membership.adopt(member, signal);
      participant.adoption = 'Done';
      this.#queues.enqueueAllIn(member);
      // Members that share the addresses have to use those that this one had.
      if (this.#sharesAddresses(member)) for (const key of keysIn(member)) this.#queues.enqueueImports(key);
    } catch (error) {
      participant.adoption = 'Pending';
      if (signal.aborted) return;
      log[memberErrorLevel(member, error)](
        { cluster: id, err: error },
        'could not read the leases of the cluster, retrying',
      );
      this.#clock.after(readoptMs, () => this.#stateChanged(id));
      return;
    }
    try {
      await announce(participant, setName, signal);
      this.#membership.invalidate();
    } catch (error) {
      // The properties are for users: no controller needs them.
      if (!signal.aborted)
        log[memberErrorLevel(member, error)](
          { cluster: id, err: error },
          'could not write the properties of the cluster',
        );
    }
    if (member.options.isReadOnly !== true) await onJoined?.(member, signal);
    this.#compareAll();
  }

  #sharesAddresses({ id, options: { vips } }: Member): boolean {
    return vips !== undefined && this.members.some((each) => each.id !== id && each.options.vips === vips);
  }
}

const requeue = (requeueAfterMs: number): Outcome => (requeueAfterMs > 0 ? { requeueAfterMs } : undefined);

/** Whether a cluster still has imports or slices of the set, or exports that the controller has not released. */
const hasRemains = ({ caches }: { readonly caches: MemberCaches }): boolean =>
  [...caches.serviceImports.list(), ...caches.importedServices.list()].some(isOurs) ||
  caches.slices.list().some(isOurSlice) ||
  [...caches.superclusterExports.list(), ...caches.serviceExports.list()].some(
    ({ metadata }) => metadata.finalizers?.includes(exportFinalizer) === true,
  );
