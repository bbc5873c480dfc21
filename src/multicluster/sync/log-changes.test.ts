import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LoggedMember } from './log-changes.ts';
import { logChanges } from './log-changes.ts';
import type { Observed } from './membership.ts';

const well: Observed = {
  shared: '',
  isReady: true,
  state: 'alive',
  isSlow: false,
  isSkewed: false,
  problem: undefined,
  isOverLimit: false,
  lacksKinds: false,
};
const member: LoggedMember = {
  id: 'west',
  caches: { excess: new Error('too many'), lacksKinds: true },
  probe: { latencyMs: 7240, clockSkewMs: -37_400, error: new Error('refused') },
};

/** The lines of a change, as level, text and reason. */
function linesOf(before: Partial<Observed>, now: Partial<Observed>): readonly string[] {
  const lines: string[] = [];
  const at = (level: string) => (fields: object, text: string) => {
    const { cluster, reason = '' } = fields as { readonly cluster?: string; readonly reason?: string };
    assert.equal(cluster, 'west');
    lines.push(`${level} ${text}${reason === '' ? '' : `: ${reason}`}`);
  };
  const log = { info: at('info'), warn: at('warn'), error: at('error') };
  logChanges(log as Parameters<typeof logChanges>[0], member, {
    before: { ...well, ...before },
    now: { ...well, ...now },
  });
  return lines;
}

const failing = 'warn requests to the cluster fail, retrying: refused';
const cases: readonly (readonly [before: Partial<Observed>, now: Partial<Observed>, lines: readonly string[]])[] = [
  [{}, {}, []],
  [{ state: 'unknown' }, {}, []],
  [{}, { state: 'silent' }, [failing]],
  [{ state: 'unknown' }, { state: 'lost' }, [failing]],
  [{ state: 'silent' }, { state: 'silent' }, []],
  [{ state: 'silent' }, { state: 'lost' }, ['error cluster is lost, its leases expire: refused']],
  [{ state: 'silent' }, {}, ['warn requests to the cluster succeed again']],
  [{ state: 'lost' }, {}, ['warn requests to the cluster succeed again']],
  [{}, { isSlow: true }, ['warn cluster answers slowly']],
  [{ isSlow: true }, { state: 'silent' }, [failing]],
  [{ isSlow: true }, {}, ['warn cluster no longer answers slowly']],
  [{}, { isSkewed: true }, ['warn cluster clock differs from the local clock']],
  [{ isSkewed: true }, {}, ['warn cluster clock no longer differs']],
  [{}, { problem: 'replaced' }, ['error cluster is rejected: replaced']],
  [{ problem: 'replaced' }, {}, ['info cluster is no longer rejected']],
  [{}, { isOverLimit: true }, ['error cluster is over its limit and is not read']],
  [{ isOverLimit: true }, {}, ['warn cluster is within its limit again']],
  [{ lacksKinds: true }, {}, ['warn cluster has the CRDs']],
];

for (const [before, now, lines] of cases) {
  test(`${JSON.stringify(before)} to ${JSON.stringify(now)} logs ${lines.length} lines`, () =>
    assert.deepEqual(linesOf(before, now), lines));
}
