// Reconciles the imports of one member: derived Services, imports and slices.
import type { Logger } from 'pino';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { Member } from '../member/member.ts';
import { isInAudience } from '../merge/audience.ts';
import type { Merged } from '../merge/merged.ts';
import { deliveryOf } from '../project/delivery.ts';
import type { Actual, Desired, Write } from '../project/desired.ts';
import { diff } from '../project/diff.ts';
import { isOurs, isOurSlice } from '../project/labels.ts';
import type { MirrorCache } from '../project/mirror.ts';
import { project } from '../project/project.ts';
import type { VipState } from '../vip/allocator.ts';
import type { DeletionLimits } from '../../client/deletion-limiter.ts';
import { DeletionLimiter } from '../../client/deletion-limiter.ts';
import type { DeliveryStates, Result } from './delivery-state.ts';
import type { Membership } from './membership.ts';
import type { SyncMetrics } from './metrics.ts';
import type { Services } from './services.ts';

export interface ImportReconcilerOptions {
  readonly services: Services;
  readonly membership: Membership;
  readonly states: DeliveryStates;
  readonly metrics: SyncMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly deletionLimits: DeletionLimits;
}

/** The result of a reconcile, from which `Sync` enqueues others. */
export interface ImportOutcome {
  /** 0: not before something changes. */
  readonly requeueAfterMs: number;
  /** The conditions of the exports can change. */
  readonly affectsExports: boolean;
  /** Something was removed, so that an export which is being deleted may lose its finalizer. */
  readonly mayBeWithdrawn: boolean;
  /** Services that waited for an address which is free now, and the members that share it. */
  readonly unblocked: { readonly keys: readonly Key[]; readonly members: readonly string[] };
  /** No cluster exports or holds the service any more. */
  readonly isDeleted: boolean;
}

/** State of one member that ends with the term. */
interface MemberState {
  readonly limiter: DeletionLimiter;
  /** Service → time of the first change that the member does not have yet. */
  readonly changedAt: Map<Key, number>;
}

/** Another controller has this long to write a change before the exports report it as pending. */
const otherWriterMs = 10_000;

const notWaiting = { keys: [], members: [] };
const kept = { unblocked: notWaiting, isDeleted: false };

/** Reconciles the imports of one service in one member. */
export class ImportReconciler {
  readonly #options: ImportReconcilerOptions;
  #members = new WeakMap<Member, MemberState>();

  constructor(options: ImportReconcilerOptions) {
    this.#options = options;
  }

  /** Resets measured times and limits of deletions. */
  beginTerm(): void {
    this.#members = new WeakMap();
    for (const { ports } of this.#options.membership.members) ports.reset();
  }

  /** Starts to measure how long a change of a source takes to this member. */
  observeChange(member: Member, key: Key): void {
    const { changedAt } = this.#stateOf(member);
    if (!changedAt.has(key)) changedAt.set(key, this.#options.clock.elapsed());
  }

  /** Source clusters whose slices in a member are deleted later, because there are too many at once. */
  heldIn(member: Member): readonly string[] {
    return this.#members.get(member)?.limiter.held ?? [];
  }

  /** Writes the difference; in a member that another controller writes to, only checks it. Rejects when a write fails. */
  async reconcile(member: Member, key: Key, signal: AbortSignal): Promise<ImportOutcome> {
    const { services, membership, states } = this.#options;
    const before = states.get(key, member.id);
    const projection = {
      key,
      merged: services.getFor(key, member),
      member,
      mirrors: member.mirrors,
      ...membership.byState(),
    };
    const version = services.version(key);
    states.apply(key, member.id, { type: 'started' });
    if (member.options.isReadOnly === true) {
      const checked = check(projection);
      const isBehind = checked.delivery.state === 'pending' && before.last?.delivery.state === 'acknowledged';
      const leftMs = isBehind ? otherWriterMs - this.#waitedMs(member, key) : 0;
      if (leftMs > 0) return { ...kept, requeueAfterMs: leftMs, affectsExports: false, mayBeWithdrawn: false };
      return this.#succeeded(member, key, { ...checked, version });
    }
    const written = await write(
      {
        ...projection,
        now: () => timestamp(this.#options.clock.now()),
        deletionWaitMs: (deletion) => this.#deletionWaitMs(member, key, deletion),
        onWrite: (each) => this.#options.metrics.countWrite(member.id, each),
      },
      signal,
    );
    return this.#succeeded(member, key, { ...written, version });
  }

  #succeeded(member: Member, key: Key, written: Written & { readonly version: number }): ImportOutcome {
    const { metrics, states } = this.#options;
    const { delivery, clusters, version, writes, waitMs } = written;
    const { changedAt } = this.#stateOf(member);
    if (changedAt.has(key) && writes > 0)
      metrics.propagation.observe({ importer: member.id }, this.#waitedMs(member, key) / 1000);
    changedAt.delete(key);
    const result: Result = { delivery, clusters, version };
    const affectsExports = states.apply(key, member.id, { type: 'succeeded', result });
    const mayBeWithdrawn = writes > 0 || member.options.isReadOnly === true;
    return { requeueAfterMs: waitMs, affectsExports, mayBeWithdrawn, ...this.#tidy(member, key) };
  }

  /** How long the member has been waiting for a change. */
  #waitedMs(member: Member, key: Key): number {
    this.observeChange(member, key);
    const now = this.#options.clock.elapsed();
    return now - (this.#stateOf(member).changedAt.get(key) ?? now);
  }

  /** Releases the addresses of a service that has no exports any more, and deletes its state once no member holds it. */
  #tidy(member: Member, key: Key): Pick<ImportOutcome, 'unblocked' | 'isDeleted'> {
    const { services, membership, states } = this.#options;
    const { members } = membership;
    if (services.getFor(key, member).order.length > 0) return kept;
    const unblocked = this.#release(member, key);
    const { exporters } = services.get(key);
    if (exporters.length > 0 || members.some((each) => holdsAnything(each, key)))
      return { unblocked, isDeleted: false };
    // A member whose namespace was deleted first is not reconciled.
    const others = members.map((each) => this.#release(each, key));
    const all = [unblocked, ...others];
    const both = { keys: all.flatMap(({ keys }) => keys), members: [...new Set(all.flatMap((each) => each.members))] };
    // A member that cannot be read may still use the address: it is released when the member is read or removed.
    if (members.some(({ options }) => options.vips?.has(key) === true)) return { unblocked: both, isDeleted: false };
    services.delete(key);
    states.delete(key);
    return { unblocked: both, isDeleted: true };
  }

  /** Releases the address of a service unless a member that shares it may use it. */
  #release({ options: { vips } }: Member, key: Key): ImportOutcome['unblocked'] {
    if (vips === undefined) return notWaiting;
    const sharing = this.#options.membership.members.filter(({ options }) => options.vips === vips);
    const { services } = this.#options;
    const isUsed = sharing.some(
      (each) =>
        (each.concerns(key) && (!each.isReady || services.getFor(key, each).order.length > 0)) ||
        holdsAnything(each, key),
    );
    return isUsed ? notWaiting : { keys: vips.release(key), members: sharing.map(({ id }) => id) };
  }

  /** Deletions are limited unless the export itself is being deleted or hides from the member, or the source left the set. */
  #deletionWaitMs(member: Member, key: Key, deletion: Write): number {
    const { membership, metrics, log } = this.#options;
    const source = deletedSource(deletion);
    if (source === undefined || membership.get(source) === undefined) return 0;
    const exporter = this.#options.services.get(key).exporters.find(({ cluster }) => cluster === source);
    const importer = { id: member.id, labels: member.options.labels };
    if (exporter !== undefined && (exporter.verdict.state === 'leaving' || !isInAudience(exporter, importer))) return 0;
    const total = member.caches.slices.by('source', source).length;
    const waitMs = this.#stateOf(member).limiter.waitMs(source, total);
    if (waitMs > 0) {
      metrics.deletionsHeld.inc({ importer: member.id });
      log.warn({ cluster: member.id, source, waitMs }, 'too many deletions at once, delaying them');
    }
    return waitMs;
  }

  #stateOf(member: Member): MemberState {
    const { clock, deletionLimits } = this.#options;
    const known = this.#members.get(member);
    if (known !== undefined) return known;
    const state = { limiter: new DeletionLimiter(clock, deletionLimits), changedAt: new Map<Key, number>() };
    this.#members.set(member, state);
    return state;
  }
}

/** A service, the member to project it into, and the states of the other members. */
export interface Projection {
  readonly key: Key;
  readonly merged: Merged;
  readonly member: Member;
  /** Members that have not been read: what came from them stays. */
  readonly unknown: ReadonlySet<string>;
  /** Members that are lost: the reaper removes their slices. */
  readonly lost: ReadonlySet<string>;
  /** Members that do not answer and may be lost. */
  readonly silent?: ReadonlySet<string>;
  readonly draining?: ReadonlySet<string>;
  readonly members?: readonly AudienceMember[];
  readonly mirrors?: MirrorCache;
}

/** The result of the writes to a member. */
interface Written extends Omit<Result, 'version'> {
  readonly writes: number;
  /** How long delayed deletions have to wait; 0: none was delayed. */
  readonly waitMs: number;
}

interface WriteInput extends Projection {
  /** 0: the write may be made; else how long it has to wait. */
  readonly deletionWaitMs: (write: Write) => number;
  /** The time for conditions that change. */
  readonly now: () => string;
  readonly onWrite: (write: Write) => void;
}

/** Slices need imports, and these may need a derived Service. */
const mostSteps = 6;

/** Writes the difference between the desired and the actual objects of a member until there is none. */
async function write(input: WriteInput, signal: AbortSignal): Promise<Written> {
  const { member, merged, mirrors } = input;
  let writes = 0;
  for (let step = 0; step < mostSteps; step++) {
    const { desired, actual } = desiredIn(input);
    const difference = diff(desired, actual, { now: input.now(), ...(mirrors && { mirrors }) });
    let waitMs = 0;
    for (const each of difference.writes) {
      const wait = input.deletionWaitMs(each);
      if (wait === 0) {
        await member.apply(each, signal);
        input.onWrite(each);
        writes++;
      } else waitMs = Math.max(waitMs, wait);
    }
    if (difference.isPartial) continue;
    const delivery = deliveryOf(member.facts(), desired, { ...difference, writes: [] });
    return { delivery, clusters: merged.order, writes, waitMs };
  }
  throw new Error(
    `${input.key} still differs in cluster ${member.id} after ${mostSteps} steps: another client keeps changing it`,
  );
}

/** Compares the desired with the actual objects of a member that another controller writes to. */
function check(input: Projection): Written {
  const { member, merged, mirrors } = input;
  const { desired, actual } = desiredIn(input);
  const difference = diff(desired, actual, { now: '', ...(mirrors && { mirrors }) });
  return { delivery: deliveryOf(member.facts(), desired, difference), clusters: merged.order, writes: 0, waitMs: 0 };
}

/** The desired and the actual objects of a service in a member. */
export function desiredIn({ key, merged, member, unknown, lost, silent, draining, members, mirrors }: Projection): {
  readonly desired: Desired;
  readonly actual: Actual;
} {
  const facts = member.facts();
  const actual = member.actual(key);
  const isWanted = facts.namespaces.has(merged.namespace);
  const shown = merged.views.clusterset ?? merged.views.supercluster;
  const { vips, isReadOnly = false } = member.options;
  // In a member that another controller writes to, the address is the one in the import.
  const vip: VipState =
    vips === undefined || isReadOnly || !isWanted ? { state: 'unneeded' } : vips.addressesFor(key, shown, actual);
  const target = {
    member: facts,
    actual,
    vip,
    unknownClusters: unknown,
    lostClusters: lost,
    ...(silent && { silentClusters: silent }),
    ...(draining && { drainingClusters: draining }),
    ...(members && { members }),
    ...(mirrors && { mirrors }),
    gateway: member.gateway,
  };
  const desired = project(merged, target);
  return { desired, actual: withRelabelled(actual, desired, member) };
}

/** Adds desired slices that exist under labels that were edited, so that the index does not find them. */
function withRelabelled(actual: Actual, { slices }: Desired, member: Member): Actual {
  if (slices === 'later') return actual;
  const found = new Set(actual.slices.map(({ metadata }) => metadata.name));
  const relabelled = slices.flatMap(({ metadata: { namespace = '', name = '' } }): readonly EndpointSlice[] => {
    const slice = found.has(name) ? undefined : member.slice(namespace, name);
    return slice === undefined ? [] : [slice];
  });
  return relabelled.length === 0 ? actual : { ...actual, slices: [...actual.slices, ...relabelled] };
}

/** The source cluster of a slice that a write deletes; undefined: it deletes no slice. */
const deletedSource = ({ verb, kind, object }: Write): string | undefined =>
  verb === 'delete' && kind === endpointSliceKind ? (object.metadata.labels?.[sourceClusterLabel] ?? '') : undefined;

/** Whether a member holds anything of a service that this controller has written. */
function holdsAnything(member: Member, key: Key): boolean {
  if (!member.concerns(key)) return false;
  const { importedService, serviceImport, derivedService, slices } = member.actual(key);
  return (
    [importedService, serviceImport, derivedService].some((object) => object !== undefined && isOurs(object)) ||
    slices.some(isOurSlice)
  );
}
