// Both reconcilers over members in memory, with a clock that the test advances.
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ManualClock } from '../../../client/testing/clocks.ts';
import type { MemberInMemory } from '../../testing/member.ts';
import { webKey } from '../../testing/member.ts';
import { DeliveryStates } from '../delivery-state.ts';
import { ExportReconciler } from '../export-reconciler.ts';
import type { ImportOutcome } from '../import-reconciler.ts';
import { ImportReconciler } from '../import-reconciler.ts';
import { Membership } from '../membership.ts';
import { syncMetrics } from '../metrics.ts';
import { Services } from '../services.ts';

const nothingToCollect = {
  services: () => 0,
  conflicts: () => 0,
  dropped: () => new Map<string, number>(),
  excessive: () => new Map<string, boolean>(),
  answeredInMs: () => new Map<string, number>(),
  clockSkewsMs: () => new Map<string, number>(),
  waiting: () => new Map<string, number>(),
};

const { signal } = new AbortController();

export class Reconcilers {
  readonly clock = new ManualClock(100_000);
  readonly membership = new Membership();
  readonly states = new DeliveryStates();
  readonly services: Services;
  readonly imports: ImportReconciler;
  readonly exports: ExportReconciler;
  readonly #members: readonly MemberInMemory[];

  constructor(members: readonly MemberInMemory[], hasOtherWriters = false) {
    const { clock, membership, states } = this;
    this.#members = members;
    for (const { member } of members) membership.add(member);
    this.services = new Services({
      members: () => membership.participating(),
      conflictPolicy: 'Withdraw',
      clock,
      hasOtherWriters: () => hasOtherWriters,
      onDenials: (keys) => {
        for (const key of keys) this.services.changed(key);
      },
    });
    const metrics = syncMetrics(new Registry(), nothingToCollect);
    const shared = { services: this.services, membership, states, clock, metrics };
    const deletionLimits = { least: 0, share: 0.5, holdMs: 60_000 };
    this.imports = new ImportReconciler({ ...shared, log: pino({ level: 'silent' }), deletionLimits });
    this.exports = new ExportReconciler(shared);
  }

  /** To be called after a change of a member. */
  changed(): void {
    this.membership.invalidate();
    this.services.changed(webKey);
  }

  /** Reconciles the import of the service in a member. */
  import(id: string): Promise<ImportOutcome> {
    return this.imports.reconcile(this.#memberOf(id).member, webKey, signal);
  }

  /** Reconciles the exports of the service by a member; returns when to reconcile again. */
  export(id: string): Promise<number> {
    return this.exports.reconcile(this.#memberOf(id).member, webKey, signal);
  }

  #memberOf(id: string): MemberInMemory {
    const member = this.#members.find((each) => each.id === id);
    if (member === undefined) throw new Error(`no member ${id}`);
    return member;
  }
}
