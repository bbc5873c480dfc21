import assert from 'node:assert/strict';
import { test } from 'node:test';

import { evictionRate } from './disruption.ts';

/** A zone as `failed/nodes`. */
const zone = (text: string) => {
  const [notReady = 0, nodes = 0] = text.split('/').map(Number);
  return { notReady, nodes };
};

const rows: readonly (readonly [name: string, zone: string, others: readonly string[], rate: number])[] = [
  ['evicts at the normal rate from one failed node of three', '1/3', [], 0.1],
  ['evicts from two failed nodes of three, which may be a coincidence', '2/3', [], 0.1],
  ['evicts nothing in a small zone where most nodes failed', '3/5', [], 0],
  ['evicts slowly in a large zone where most nodes failed', '60/100', [], 0.01],
  ['evicts at the normal rate in a large zone where half of the nodes failed', '50/100', [], 0.1],
  ['evicts from a dead zone beside a live one', '3/3', ['0/3'], 0.1],
  ['evicts nothing if all zones are dead', '3/3', ['2/2'], 0],
  ['evicts nothing from the only node', '1/1', [], 0],
];
for (const [name, own, others, rate] of rows) {
  test(name, () => assert.equal(evictionRate(zone(own), [own, ...others].map(zone)), rate));
}
