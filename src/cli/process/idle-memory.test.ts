import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nativeBytes, shouldCollect, shouldTrim, trimNativeMemory } from './idle-memory.ts';

const mb = 1 << 20;

test('memory is released when the process becomes idle after growth', () => {
  const table = [
    { name: 'still at work', before: { cpuShare: 0.9, residentBytes: 300 * mb }, cpuShare: 0.5, want: false },
    { name: 'idle after growth', before: { cpuShare: 0.9, residentBytes: 300 * mb }, cpuShare: 0.01, want: true },
    { name: 'still idle', before: { cpuShare: 0.01, residentBytes: 300 * mb }, cpuShare: 0.01, want: false },
  ];
  for (const { name, before, cpuShare, want } of table) {
    assert.equal(shouldCollect(before, { cpuShare, residentBytes: 300 * mb }, 200 * mb), want, name);
  }
  const small = { cpuShare: 0.9, residentBytes: 210 * mb };
  assert.equal(shouldCollect(small, { ...small, cpuShare: 0 }, 200 * mb), false, 'little to gain');
});

test('native memory is released when much more of it is resident than ever while idle', () => {
  const memory = { rss: 700 * mb, heapTotal: 40 * mb, external: 10 * mb };
  assert.equal(nativeBytes(memory), 650 * mb);
  assert.equal(shouldTrim(memory, 110 * mb), true);
  assert.equal(shouldTrim(memory, 600 * mb), false);
  assert.equal(shouldTrim({ ...memory, heapTotal: 600 * mb }, 80 * mb), false, 'V8 has it');
});

test('releasing native memory ends on every system', async () => {
  await trimNativeMemory();
});
