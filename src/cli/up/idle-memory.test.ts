import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shouldCollect } from './idle-memory.ts';

const mb = 1 << 20;

test('memory is given back at the first rest after growth', () => {
  const table = [
    { name: 'still at work', before: { cpuShare: 0.9, residentBytes: 300 * mb }, cpuShare: 0.5, want: false },
    { name: 'at rest after growth', before: { cpuShare: 0.9, residentBytes: 300 * mb }, cpuShare: 0.01, want: true },
    { name: 'resting on', before: { cpuShare: 0.01, residentBytes: 300 * mb }, cpuShare: 0.01, want: false },
  ];
  for (const { name, before, cpuShare, want } of table) {
    assert.equal(shouldCollect(before, { cpuShare, residentBytes: 300 * mb }, 200 * mb), want, name);
  }
  const small = { cpuShare: 0.9, residentBytes: 210 * mb };
  assert.equal(shouldCollect(small, { ...small, cpuShare: 0 }, 200 * mb), false, 'little to gain');
});
