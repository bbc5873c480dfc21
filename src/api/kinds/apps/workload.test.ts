import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind, WriteContext } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { decode } from '../../schema/decode.ts';
import { decodeProtobuf, encodeProtobuf } from '../../schema/protobuf.ts';
import { daemonSetKind } from './daemonset/kind.ts';
import { deploymentKind } from './deployment/kind.ts';
import type { Deployment } from './deployment/schema.ts';
import { replicaSetKind } from './replicaset/kind.ts';
import { selectorText } from '../../selectors/label-selector.ts';
import { statefulSetKind } from './statefulset/kind.ts';
import type { StatefulSet } from './statefulset/schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const container = { name: 'web', image: 'web:1' };
const good = {
  selector: { matchLabels: { app: 'web' } },
  template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
};
const made = <T extends ApiObject>(kind: Kind<T>, spec: object): T =>
  kind.applyDefaults(decode<T>(kind.schema, { metadata: { name: 'web', namespace: 'shop' }, spec }).object);
const texts = <T extends ApiObject>(kind: Kind<T>, spec: object): readonly string[] =>
  kind.validateCreate(made(kind, spec), context).map(({ path, body }) => `${path}: ${body}`);

for (const kind of [deploymentKind, replicaSetKind, statefulSetKind, daemonSetKind] as readonly Kind[]) {
  test(`${kind.kind}: accepts a minimal object, and defaults are idempotent`, () => {
    assert.deepEqual(texts(kind, good), []);
    const once = made(kind, good);
    assert.deepEqual(kind.applyDefaults(once), once);
  });

  test(`${kind.kind}: protobuf preserves the object`, () => {
    const object = made(kind, good);
    assert.deepEqual(
      decodeProtobuf(kind.schema, encodeProtobuf(kind.schema, object)),
      decode(kind.schema, object).object,
    );
  });

  test(`${kind.kind}: the selector must match the template`, () => {
    const spec = { ...good, selector: { matchLabels: { app: 'other' } } };
    assert.deepEqual(texts(kind, spec), [
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ]);
  });

  test(`${kind.kind}: a selector is required`, () => {
    assert.deepEqual(texts(kind, { template: good.template }), [
      ...(kind === daemonSetKind ? [] : ['spec.selector: Required value']),
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ]);
  });

  test(`${kind.kind}: rejects restart policies other than Always`, () => {
    const template = { ...good.template, spec: { ...good.template.spec, restartPolicy: 'Never' } };
    assert.deepEqual(texts(kind, { ...good, template }), [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ]);
  });

  test(`${kind.kind}: an update cannot change the selector`, () => {
    const both = { app: 'web', tier: 'front' };
    const template = { ...good.template, metadata: { labels: both } };
    const errors = kind.validateUpdate(
      made(kind, { selector: { matchLabels: both }, template }),
      made(kind, { ...good, template }),
      context,
    );
    assert.deepEqual(errors.length, 1);
    assert.match(errors[0]?.body ?? '', /field is immutable|updates to statefulset spec for fields other than/);
  });
}

const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const empty = { selector: {}, template: good.template };
test('rejects an empty selector with the message of each kind', () => {
  assert.deepEqual(texts(deploymentKind, empty), [
    'spec.selector: Invalid value: {}: empty selector is invalid for deployment',
  ]);
  assert.deepEqual(texts(daemonSetKind, empty), [
    'spec.selector: Invalid value: {}: empty selector is invalid for daemonset',
  ]);
  assert.deepEqual(texts(statefulSetKind, empty), [
    'spec.selector: Invalid value: {}: empty selector is invalid for statefulset',
  ]);
});

test('sets the defaults of a Deployment', () => {
  const { template: _template, selector: _selector, ...spec } = made(deploymentKind, good).spec;
  assert.deepEqual(spec, {
    replicas: 1,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  });
  assert.equal(made(deploymentKind, good).spec.template.spec.enableServiceLinks, undefined);
});

test('sets the defaults of a StatefulSet', () => {
  const { template: _template, selector: _selector, ...spec } = made(statefulSetKind, good).spec;
  assert.deepEqual(spec, {
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    serviceName: '',
  });
});

const refusals: readonly { name: string; spec: object; want: readonly string[] }[] = [
  {
    name: 'negative numbers',
    spec: { replicas: -1 },
    want: ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  },
  {
    name: 'maxUnavailable and maxSurge of zero',
    spec: { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: '0%' } } },
    want: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
  },
  {
    name: 'maxUnavailable above 100%',
    spec: { strategy: { rollingUpdate: { maxUnavailable: '101%' } } },
    want: ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  },
  {
    name: 'rollingUpdate with type Recreate',
    spec: { strategy: { type: 'Recreate', rollingUpdate: {} } },
    want: ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  },
  {
    name: 'a progress deadline not above minReadySeconds',
    spec: { minReadySeconds: 20, progressDeadlineSeconds: 20 },
    want: ['spec.progressDeadlineSeconds: Invalid value: 20: must be greater than minReadySeconds'],
  },
];
for (const { name, spec, want } of refusals) {
  test(`Deployment: ${name}`, () => assert.deepEqual(texts(deploymentKind, { ...good, ...spec }), want));
}

test('a DaemonSet sets either maxUnavailable or maxSurge', () => {
  const errorsWith = (rollingUpdate: object): readonly string[] =>
    texts(daemonSetKind, { ...good, updateStrategy: { rollingUpdate } });
  const path = 'spec.updateStrategy.rollingUpdate';
  assert.deepEqual(errorsWith({ maxSurge: '50%' }), [
    `${path}.maxSurge: Invalid value: "50%": may not be set when maxUnavailable is non-zero`,
  ]);
  assert.deepEqual(errorsWith({ maxUnavailable: 0 }), [
    `${path}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
  ]);
  assert.deepEqual(errorsWith({ maxUnavailable: 0, maxSurge: 1 }), []);
});

test('reports an invalid selector as Kubernetes does, and does not compare it with the template', () => {
  const selector = { matchLabels: { 'a b': 'c' } };
  const whole = 'spec.selector: Invalid value: {"matchLabels":{"a b":"c"}}';
  const errorsOf = (kind: Kind): readonly string[] => texts(kind, { ...good, selector }).slice(1);
  assert.deepEqual(errorsOf(deploymentKind), [`${whole}: invalid label selector`]);
  assert.deepEqual(errorsOf(statefulSetKind), [whole]);
  assert.deepEqual(errorsOf(daemonSetKind), []);
});

test('a DaemonSet counts the versions of its template', () => {
  const countOf = ({ metadata }: ApiObject): string | undefined =>
    metadata.annotations?.['deprecated.daemonset.template.generation'];
  const first = daemonSetKind.prepareForCreate(made(daemonSetKind, good), context);
  assert.equal(countOf(first), '1');
  const same = daemonSetKind.prepareForUpdate(made(daemonSetKind, { ...good, minReadySeconds: 5 }), first, context);
  assert.equal(countOf(same), '1');
  const template = { ...good.template, spec: { containers: [{ ...container, image: 'web:2' }] } };
  const next = daemonSetKind.prepareForUpdate(made(daemonSetKind, { ...good, template }), first, context);
  assert.equal(countOf(next), '2');
});

test('a StatefulSet drops maxUnavailable', () => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1, maxUnavailable: 2 } };
  const { spec } = statefulSetKind.prepareForCreate(made(statefulSetKind, { ...good, updateStrategy }), context);
  assert.deepEqual(spec.updateStrategy.rollingUpdate, { partition: 1 });
});

test('rejects invalid annotations of a template', () => {
  const template = { ...good.template, metadata: { ...good.template.metadata, annotations: { 'a b': '' } } };
  assert.match(
    texts(deploymentKind, { ...good, template })[0] ?? '',
    /^spec\.template\.annotations: Invalid value: "a b"/,
  );
});

test('Pods of a StatefulSet can mount its claims', () => {
  const template = {
    ...good.template,
    spec: { containers: [{ ...container, volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
  };
  assert.deepEqual(
    texts(statefulSetKind, { ...good, template, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }] }),
    [],
  );
  assert.deepEqual(
    texts(statefulSetKind, { ...good, template, volumeClaimTemplates: [{ metadata: { name: 'data' } }] }),
    [
      'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
    ],
  );
  assert.deepEqual(texts(statefulSetKind, { ...good, template }), [
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ]);
});

test('replicas and template of a StatefulSet are mutable', () => {
  const old: StatefulSet = made(statefulSetKind, good);
  assert.deepEqual(statefulSetKind.validateUpdate(made(statefulSetKind, { ...good, replicas: 3 }), old, context), []);
});

test('the row of a Deployment', () => {
  const object: Deployment = {
    ...made(deploymentKind, good),
    status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 },
  };
  assert.deepEqual(
    deploymentKind.columns.map((column) => column.cell(object, 0)),
    ['web', '1/1', 2, 1, '<unknown>', 'web', 'web:1', 'app=web'],
  );
});

const selectors = [
  { given: undefined, want: '<none>' },
  { given: {}, want: '<none>' },
  { given: { matchLabels: { b: '2', a: '1' } }, want: 'a=1,b=2' },
  {
    given: {
      matchLabels: { m: '1' },
      matchExpressions: [
        { key: 'z', operator: 'In', values: ['b', 'a'] },
        { key: 'c', operator: 'NotIn', values: ['x'] },
        { key: 'e', operator: 'Exists' },
        { key: 'd', operator: 'DoesNotExist' },
      ],
    },
    want: 'c notin (x),!d,e,m=1,z in (a,b)',
  },
] as const;
for (const { given, want } of selectors) {
  test(`a selector prints as ${want}`, () => assert.equal(selectorText(given), want));
}
