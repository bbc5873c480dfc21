import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../schema/decode.ts';
import { cells, created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { commonIndex, countIndexes } from './indexes.ts';
import { jobKind } from './kind.ts';
import type { Job } from './schema.ts';

const pod = { containers: [{ name: 'main', image: 'example.org/main:1' }], restartPolicy: 'Never' };
const template = { spec: pod };
const uid = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';
const metadata = { name: 'a', namespace: 'shop', uid };
const jobOf = (spec: object): object => ({ metadata, spec: { template, ...spec } });
const errorsOf = (spec: object): readonly string[] => createErrors(jobKind, jobOf(spec));

test('sets the defaults of a Job and generates its selector', () => {
  const { metadata: _metadata, spec } = created(jobKind, jobOf({}));
  const { template: made, ...rest } = spec;
  assert.deepEqual(rest, {
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
    manualSelector: false,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  });
  assert.deepEqual(made.metadata.labels, {
    'job-name': 'a',
    'batch.kubernetes.io/job-name': 'a',
    'controller-uid': uid,
    'batch.kubernetes.io/controller-uid': uid,
  });
});

test('a Job with parallelism only is a work queue', () => {
  const { spec } = created(jobKind, jobOf({ parallelism: 3 }));
  assert.deepEqual([spec.completions, spec.parallelism], [undefined, 3]);
});

const rule = (more: object): object => ({ podFailurePolicy: { rules: [{ action: 'FailJob', ...more }] } });
const indexed = { completionMode: 'Indexed', completions: 5 };
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a template', given: {}, want: [] },
  {
    name: 'requires a restart policy that lets Pods end',
    given: { template: { spec: { ...pod, restartPolicy: 'Always' } } },
    want: ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  },
  {
    name: 'rejects negative numbers',
    given: { parallelism: -1, backoffLimit: -2 },
    want: [
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
      'spec.backoffLimit: Invalid value: -2: must be greater than or equal to 0',
    ],
  },
  {
    name: 'rejects labels that conflict with the generated ones',
    given: { template: { metadata: { labels: { 'job-name': 'other' } }, spec: pod } },
    want: [
      `spec.template.metadata.labels[job-name]: Invalid value: {"job-name":"other","batch.kubernetes.io/job-name":"a","controller-uid":"${uid}","batch.kubernetes.io/controller-uid":"${uid}"}: must be 'a'`,
    ],
  },
  {
    name: 'an indexed Job needs completions',
    given: { completionMode: 'Indexed', parallelism: 1 },
    want: ['spec.completions: Required value: when completion mode is Indexed'],
  },
  {
    name: 'limits per index need an indexed Job',
    given: { backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
    want: [
      'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
      'spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode',
    ],
  },
  {
    name: 'rejects an unknown manager',
    given: { managedBy: 'me' },
    want: ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
  },
  {
    name: 'a failure rule has exit codes or conditions',
    given: rule({}),
    want: [
      'spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required',
    ],
  },
  {
    name: 'validates exit codes',
    given: rule({ onExitCodes: { containerName: 'x', operator: 'In', values: [2, 0, 2] } }),
    want: [
      'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
      'spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator',
      'spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2',
      'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered',
    ],
  },
  {
    name: 'a success policy needs an indexed Job',
    given: { successPolicy: { rules: [{ succeededCount: 1 }] } },
    want: ['spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode'],
  },
  {
    name: 'validates the success policy',
    given: { ...indexed, successPolicy: { rules: [{}, { succeededIndexes: '0-2', succeededCount: 9 }] } },
    want: [
      'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
      'spec.successPolicy.rules[1].succeededCount: Invalid value: 9: must be less than or equal to 5 (the number of specified completions)',
      'spec.successPolicy.rules[1].succeededCount: Invalid value: 9: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)',
    ],
  },
  {
    name: 'a manual selector must match the template',
    given: { manualSelector: true, selector: { matchLabels: { app: 'x' } } },
    want: ['spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`'],
  },
];
for (const { name, given, want } of table) test(name, () => assert.deepEqual(errorsOf(given), want));

const changed = (old: object, next: object): readonly string[] => updateErrors(jobKind, jobOf(old), jobOf(next));

test('completions, selector and template cannot be changed, parallelism can', () => {
  assert.deepEqual(changed({ completions: 2 }, { completions: 2, parallelism: 4, suspend: true }), []);
  assert.deepEqual(changed({ completions: 2 }, { completions: 3 }), [
    'spec.completions: Invalid value: 3: field is immutable',
  ]);
  assert.match(
    changed({}, { template: { spec: { ...pod, terminationGracePeriodSeconds: 5 } } })[0] ?? '',
    /^spec\.template: Invalid value: .*: field is immutable$/,
  );
});

test('completions of an indexed Job change with its parallelism', () => {
  assert.deepEqual(changed(indexed, { completionMode: 'Indexed', completions: 3, parallelism: 3 }), []);
  assert.deepEqual(changed(indexed, { completionMode: 'Indexed', completions: 3, parallelism: 2 }), [
    'spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism',
  ]);
});

test('the scheduling of a suspended Job can be changed until it starts', () => {
  const moved = { spec: { ...pod, nodeSelector: { zone: 'a' }, tolerations: [{ operator: 'Exists' }] } };
  assert.deepEqual(changed({ suspend: true }, { suspend: true, template: moved }), []);
  assert.equal(changed({}, { template: moved }).length, 1);
});

const statusErrors = (next: object, old: object): readonly string[] => {
  const make = (status: object): Job =>
    decode<Job>(jobKind.schema, { metadata, spec: created(jobKind, jobOf({})).spec, status }).object;
  return jobKind.validateStatus(make(next), make(old), plainContext).map(({ path, body }) => `${path}: ${body}`);
};
const start = '2026-01-01T00:00:00Z';
const end = '2026-01-01T00:01:00Z';
const met = { type: 'SuccessCriteriaMet', status: 'True' };
const complete = { type: 'Complete', status: 'True' };
const done = { startTime: start, completionTime: end, conditions: [met, complete], succeeded: 1 };
const statusTable: readonly { name: string; next: object; old: object; want: readonly string[] }[] = [
  { name: 'accepts a Job that succeeds', next: done, old: { startTime: start }, want: [] },
  {
    name: 'a complete Job has met its criteria, times, and no Pods',
    next: { conditions: [complete], active: 1 },
    old: {},
    want: [
      'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
      'status.completionTime: Required value: completionTime is required for Complete jobs',
      'status.active: Invalid value: 1: active>0 is invalid for finished job',
      'status.startTime: Required value: startTime is required for finished job',
    ],
  },
  {
    name: 'a finished Job stays finished',
    next: { startTime: start, succeeded: 0 },
    old: done,
    want: [
      'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
      'status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
      'status.succeeded: Invalid value: 0: cannot decrease the succeeded counter',
    ],
  },
  {
    name: 'rejects indexes of a Job without indexes',
    next: { completedIndexes: '0' },
    old: {},
    want: [
      'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
    ],
  },
];
for (const { name, next, old, want } of statusTable) {
  test(name, () => assert.deepEqual(statusErrors(next, old), want));
}

test('counts indexes', () => {
  const rows: readonly (readonly [text: string, want: number | string])[] = [
    ['', 0],
    ['0,2-4', 4],
    [
      '0-1-2',
      `the fragment "0-1-2" violates the requirement that an index interval can have at most two parts separated by '-'`,
    ],
    ['a', 'cannot convert string to integer for index: "a"'],
    ['5', 'too large index: "5"'],
    ['3-2', 'non-increasing order, previous: 3, current: 2'],
    ['2,1', 'non-increasing order, previous: 2, current: 1'],
  ];
  for (const [text, want] of rows) assert.equal(countIndexes(text, 5), want, text);
  assert.equal(commonIndex('0,2-4', '1,3', 5), 3);
  assert.equal(commonIndex('0,2', '1,3-4', 5), undefined);
});

test('the row of a Job', () => {
  const now = Date.parse('2026-01-01T00:00:30Z');
  assert.deepEqual(cells(jobKind, { ...jobOf({}), status: { startTime: start } }, now), [
    'a',
    'Running',
    '0/1',
    '30s',
    '<unknown>',
    'main',
    'example.org/main:1',
    '<none>',
  ]);
  assert.deepEqual(cells(jobKind, { ...jobOf({ parallelism: 2 }), status: done }, now).slice(1, 4), [
    'Complete',
    '1/1 of 2',
    '60s',
  ]);
});

test('a Job without labels gets those of its template, with the generated ones', () => {
  const containers = [{ name: 'c', image: 'i' }];
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers, restartPolicy: 'Never' } };
  const unlabeled = created(jobKind, { metadata: { name: 'a', namespace: 'shop', uid: 'u' }, spec: { template } });
  assert.deepEqual(unlabeled.metadata.labels, unlabeled.spec.template.metadata.labels);
  assert.equal(unlabeled.metadata.labels?.['job-name'], 'a');
  const labels = { app: 'web' };
  const labeled = created(jobKind, {
    metadata: { name: 'a', namespace: 'shop', uid: 'u', labels },
    spec: { template },
  });
  assert.deepEqual(labeled.metadata.labels, labels);
});
