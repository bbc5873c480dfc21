import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { nodeKind } from './kind.ts';
import type { Node } from './schema.ts';
import { node as nodeSchema } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const made = (fields: object): Node =>
  nodeKind.applyDefaults(decode<Node>(nodeSchema, { metadata: { name: 'n1' }, ...fields }).object);

const rows: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'without a Ready condition', given: {}, want: ['Unknown', '<none>'] },
  {
    name: 'ready, with roles',
    given: {
      metadata: {
        labels: {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/edge': '',
          'kubernetes.io/role': 'db',
        },
      },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    want: ['Ready', 'db,edge,worker'],
  },
  {
    name: 'not ready and cordoned',
    given: { spec: { unschedulable: true }, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    want: ['NotReady,SchedulingDisabled', '<none>'],
  },
];
for (const { name, given, want } of rows) {
  test(`kubectl get nodes: ${name}`, () => {
    const cells = nodeKind.columns.map((column) => column.cell(made(given), 0));
    assert.deepEqual(cells.slice(1, 3), want);
  });
}

test('the wide columns show addresses and versions', () => {
  const object = made({
    status: {
      addresses: [
        { type: 'Hostname', address: 'n1' },
        { type: 'InternalIP', address: '10.0.0.1' },
      ],
      nodeInfo: { kubeletVersion: 'v1.34.0', osImage: 'Linux' },
    },
  });
  assert.deepEqual(
    nodeKind.columns.slice(4).map((column) => column.cell(object, 0)),
    ['v1.34.0', '10.0.0.1', '<none>', 'Linux', '<unknown>', '<unknown>'],
  );
});

test('sets podCIDRs from podCIDR, and allocatable from capacity', () => {
  assert.deepEqual(made({ spec: { podCIDR: '10.1.0.0/24' } }).spec.podCIDRs, ['10.1.0.0/24']);
  assert.equal(made({ spec: { podCIDRs: ['10.1.0.0/24', 'fd00::/64'] } }).spec.podCIDR, '10.1.0.0/24');
  assert.deepEqual(made({ status: { capacity: { cpu: '2' } } }).status.allocatable, { cpu: '2' });
});

test('provider ID and Pod CIDR are immutable once set', () => {
  const old = made({ spec: { podCIDR: '10.1.0.0/24', providerID: 'a://b' } });
  const errors = nodeKind.validateUpdate(made({ spec: { podCIDR: '10.2.0.0/24' } }), old, context);
  assert.deepEqual(
    errors.map(({ path, body }) => `${path}: ${body}`),
    [
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ],
  );
});
