import assert from 'node:assert/strict';
import { test } from 'node:test';

import { selectedControllers, selectionErrors } from './options.ts';

const all = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'garbage-collector-controller',
];

const workloads = [
  'deployment-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'cronjob-controller',
  'ttl-after-finished-controller',
  'pod-garbage-collector-controller',
  'disruption-controller',
  'stored-kinds-controller',
  'scheduler',
];

const cases = [
  { name: 'all but those of workloads by default', given: ['*'], want: all },
  { name: 'one by name', given: ['endpoints-controller'], want: ['endpoints-controller'] },
  { name: 'all but one', given: ['*', '-garbage-collector-controller'], want: all.slice(0, -1) },
  { name: 'an explicit name wins over *', given: ['-endpoints-controller', '*'], want: all.slice(1) },
  { name: 'workloads in addition', given: ['*', 'workloads'], want: [...all, ...workloads] },
  { name: 'workloads but one', given: ['workloads', '-scheduler'], want: workloads.slice(0, -1) },
  { name: 'one of workloads by name', given: ['scheduler', '-workloads'], want: ['scheduler'] },
  { name: 'none', given: ['-endpoints-controller'], want: [] },
];

for (const { name, given, want } of cases) {
  test(`selects controllers: ${name}`, () => assert.deepEqual([...selectedControllers(given)], want));
}

test('the error of an unknown controller lists the known ones', () => {
  assert.deepEqual(selectionErrors(['*', '-endpoints-controller']), []);
  const [error] = selectionErrors(['-unknown-controller']);
  assert.match(error ?? '', /^there is no controller "-unknown-controller": choose from endpoints-controller, /);
});
