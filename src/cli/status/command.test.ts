import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Overview } from '../../dashboard/view/overview.ts';
import { lines } from './command.ts';

const item = { level: 'error', reason: 'Conflict', text: 'ports differ', id: '', cluster: 'west' } as const;
const overview: Overview = {
  clusters: [
    {
      cluster: 'west',
      state: 'ok',
      server: 'https://192.0.2.1',
      version: 'v1.35.0',
      services: 3,
      imports: 1,
      exports: 1,
      loadBalancers: 0,
      endpoints: { ready: 4, notReady: 1, terminating: 1 },
    },
  ],
  attention: [{ ...item, namespace: 'shop', name: 'web' }],
  findings: { error: 1, warning: 0, info: 0 },
};

test('prints the clusters, then what needs attention', () => {
  assert.deepEqual(lines(overview), [
    'CLUSTER  STATE  VERSION  SERVICES  READY  LOAD BALANCERS  EXPORTS  IMPORTS',
    'west     ok     v1.35.0  3         4/6    0               1        1',
    '',
    'error  west  shop/web  Conflict  ports differ',
  ]);
  assert.deepEqual(lines({ ...overview, attention: [] }).at(-1), 'nothing needs attention');
});

test('prints at most 50 findings, and how to see the others', () => {
  const attention = Array.from({ length: 60 }, () => item);
  assert.equal(lines({ ...overview, attention }).at(-1), 'and 10 more: pass -o json');
});
