import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../schema/decode.ts';
import { created, createErrors, plainContext } from '../../testing/validation.ts';
import type { ReplicationController } from './kind.ts';
import { replicationControllerKind } from './kind.ts';

const labels = { app: 'web' };
const spec = { containers: [{ name: 'web', image: 'example.org/web:1' }] };
const template = { metadata: { labels }, spec };

test('selector and labels default to the labels of the template', () => {
  const made = created(replicationControllerKind, { spec: { template } });
  assert.deepEqual([made.metadata.labels, made.spec.selector, made.spec.replicas], [labels, labels, 1]);
  assert.deepEqual(createErrors(replicationControllerKind, { spec: { template } }), []);
});

const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  {
    name: 'requires a selector and a template',
    given: {},
    want: ['spec.selector: Required value', 'spec.template: Required value'],
  },
  {
    name: 'the selector must match the template',
    given: { selector: { app: 'x' }, template },
    want: ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
  },
  {
    name: 'rejects Pods that end, and ephemeral containers',
    given: {
      template: {
        metadata: { labels },
        spec: {
          ...spec,
          restartPolicy: 'Never',
          activeDeadlineSeconds: 5,
          ephemeralContainers: [{ name: 'debug', image: 'example.org/debug:1' }],
        },
      },
    },
    want: [
      'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(replicationControllerKind, { spec: given }), want));
}

test('counts in the status cannot exceed each other', () => {
  const status = { replicas: 1, readyReplicas: 2, availableReplicas: 3 };
  const { object } = decode<ReplicationController>(replicationControllerKind.schema, { spec: { template }, status });
  assert.deepEqual(
    replicationControllerKind.validateStatus(object, object, plainContext).map(({ path, body }) => `${path}: ${body}`),
    [
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ],
  );
});
