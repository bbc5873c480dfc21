import { messageOf } from '../../api/error-message.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import type { Member } from '../member/member.ts';
import type { Delivery } from '../project/export-conditions.ts';
import { holdsNothingOf, skippedIn } from '../project/delivery.ts';
import { isOurs, isOurSlice } from '../project/marks.ts';
import type { Delivered } from './deliver.ts';

/** Failures in a row after which a member counts as lagging; fewer are what two writers do to each other. */
const lagsAfter = 3;

/** A write that failed: how often in a row, and what the server said last. */
export interface Failure {
  readonly failures: number;
  readonly error: unknown;
}

/** What a member has taken of a service, and which version of it. */
interface Taken extends Delivered {
  readonly version: number;
}

/** How far every service has come in every member: what the conditions of exports are made of. */
export class Deliveries {
  /** Key → member → what it has taken. */
  readonly #taken = new Map<Key, Map<string, Taken>>();
  /** Key → members that have failed to take it of late → why. */
  readonly #lagging = new Map<Key, Map<string, string>>();

  /** Key → cluster → which export of it was read completely, and the version that had it all first. */
  readonly #complete = new Map<Key, Map<string, { readonly uid: string; readonly version: number }>>();

  /** A member has everything of a service. True: that changes what exports are to be told. */
  took(key: Key, member: string, delivered: Taken): boolean {
    const members = this.#taken.get(key) ?? new Map<string, Taken>();
    const before = members.get(member);
    members.set(member, delivered);
    this.#taken.set(key, members);
    const lagging = this.#lagging.get(key);
    const didLag = lagging?.delete(member) ?? false;
    if (lagging?.size === 0) this.#lagging.delete(key);
    return (
      didLag || before === undefined || textOf(before) !== textOf(delivered) || this.#isAwaited(key, before, delivered)
    );
  }

  /** Whether some export waits for a version that was not there before. */
  #isAwaited(key: Key, before: Taken, after: Taken): boolean {
    const awaited = [...(this.#complete.get(key)?.values() ?? [])];
    return awaited.some(({ version }) => before.version < version && version <= after.version);
  }

  /** Whether the export with this uid is known to have been read with all its endpoints. */
  isComplete(key: Key, exporter: string, uid: string): boolean {
    return this.#complete.get(key)?.get(exporter)?.uid === uid;
  }

  /** This version of a service has all that a cluster had when it exported it. */
  completed(key: Key, exporter: string, complete: { readonly uid: string; readonly version: number }): void {
    const exporters = this.#complete.get(key) ?? new Map<string, typeof complete>();
    this.#complete.set(key, exporters.set(exporter, complete));
  }

  /** A member has failed to take a service, so often in a row. True: that changes what exports are to be told. */
  failed(key: Key, member: string, { failures, error }: Failure): boolean {
    if (failures !== lagsAfter) return false;
    const lagging = this.#lagging.get(key) ?? new Map<string, string>();
    this.#lagging.set(key, lagging.set(member, messageOf(error).slice(0, longestMessage)));
    return true;
  }

  /** Whether a member had everything of a service when it was last looked at. */
  hasAcknowledged(key: Key, member: string): boolean {
    return this.#taken.get(key)?.get(member)?.delivery.state === 'acknowledged';
  }

  /** Whether a member has taken a service, or failed to often enough. */
  hasTried(key: Key, member: string): boolean {
    return this.#taken.get(key)?.has(member) === true || this.#lagging.get(key)?.has(member) === true;
  }

  /** The member has left, or was lost: it has to take everything anew. */
  forgetMember(member: string): void {
    for (const members of this.#taken.values()) members.delete(member);
    for (const members of this.#lagging.values()) members.delete(member);
    for (const exporters of this.#complete.values()) exporters.delete(member);
  }

  forget(key: Key): void {
    this.#taken.delete(key);
    this.#lagging.delete(key);
    this.#complete.delete(key);
  }

  /**
   * The state of each member as the export of one cluster sees it. A member that has the cluster in the service stays
   * acknowledged while endpoints come and go: what a condition says must not change with every one of them. What the
   * cluster had when it exported the service is waited for.
   */
  of(key: Key, exporter: string, members: readonly Member[]): readonly Delivery[] {
    return members.map((member): Delivery => {
      // Also for a cluster that was lost since.
      if (!member.concerns(key)) return skippedIn(member.id, nameFor(key).namespace ?? '');
      const taken = this.#taken.get(key)?.get(member.id);
      const before = taken?.delivery ?? { cluster: member.id, hasAddress: false };
      // One that is silent for a moment is not away: what it has taken it has.
      if (member.pulse.state === 'lost' || (taken === undefined && member.pulse.state !== 'alive')) {
        return { ...before, state: 'unreachable' };
      }
      const error = this.#lagging.get(key)?.get(member.id);
      if (taken === undefined || error !== undefined) return { ...before, state: 'pending', error };
      const isLate = taken.version < (this.#complete.get(key)?.get(exporter)?.version ?? 0);
      if (taken.delivery.state === 'acknowledged' && (isLate || !taken.clusters.includes(exporter))) {
        return { ...before, state: 'pending' };
      }
      return taken.delivery;
    });
  }
}

const longestMessage = 300;

const textOf = ({ clusters, delivery }: Delivered): string => JSON.stringify([clusters, delivery]);

/**
 * Whether nothing of a source is left of a service in any member but those that are lost. Silence alone is no loss, and
 * what has not been read may be there.
 */
export const isWithdrawn = (key: Key, source: string, members: readonly Member[]): boolean =>
  members
    .filter((member) => member.pulse.state !== 'lost' && member.concerns(key))
    .every((member) => member.caches.isRead && holdsNothingOf(source, member.actual(key)));

/** Whether a member holds anything of a service that this controller has written. */
export function holdsAnything(member: Member, key: Key): boolean {
  if (!member.concerns(key)) return false;
  const { importedService, serviceImport, derivedService, slices } = member.actual(key);
  return (
    [importedService, serviceImport, derivedService].some((object) => object !== undefined && isOurs(object)) ||
    slices.some(isOurSlice)
  );
}
