import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { clusterMemberKind } from './kind.ts';
import type { ClusterMember } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };

const member = (spec: object): ClusterMember =>
  decode<ClusterMember>(clusterMemberKind.schema, { metadata: { name: 'east', namespace: 'fairlead' }, spec }).object;

const specs: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'a reference is enough', given: { secretRef: { name: 'east' } }, want: [] },
  { name: 'the reference is required', given: {}, want: ['spec.secretRef.name: Required value'] },
  {
    name: 'ranges, limits and policies are checked',
    given: {
      secretRef: { name: 'east' },
      endpointCIDRs: ['10.0.0.0/8', '10.0.0.1'],
      superclusterCIDRs: ['here'],
      maxExports: -1,
      onLoss: 'Panic',
    },
    want: [
      'spec.superclusterCIDRs[0]: Invalid value: "here": must be a CIDR, such as 241.0.0.0/16',
      'spec.endpointCIDRs[1]: Invalid value: "10.0.0.1": must be a CIDR, such as 241.0.0.0/16',
      'spec.maxExports: Invalid value: -1: must be greater than or equal to 0',
      'spec.onLoss: Unsupported value: "Panic": supported values: "Remove", "Demote", "Keep"',
    ],
  },
  {
    name: 'address modes and addresses are checked',
    given: { secretRef: { name: 'east' }, addressMode: 'tunnel', addresses: ['192.0.2.1', '192.0.2.300'] },
    want: [
      'spec.addressMode: Unsupported value: "tunnel": supported values: "pods", "loadbalancer", "nodeport", "gateway"',
      'spec.addresses[1]: Invalid value: "192.0.2.300": must be an IP address, such as 192.0.2.10',
    ],
  },
  {
    name: 'addresses need another mode than pods',
    given: { secretRef: { name: 'east' }, addresses: ['192.0.2.1'] },
    want: [
      'spec.addresses: Invalid value: ["192.0.2.1"]: may only be set with addressMode loadbalancer, nodeport or gateway',
    ],
  },
];

for (const { name, given, want } of specs) {
  test(`ClusterMember: ${name}`, () => {
    const errors = clusterMemberKind.validateCreate(member(given), context);
    assert.deepEqual(
      errors.map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('ClusterMember: the name is a cluster id', () => {
  assert.deepEqual(clusterMemberKind.nameErrors('prod-eu', false, context), []);
  assert.notDeepEqual(clusterMemberKind.nameErrors('x'.repeat(64), false, context), []);
});

test('ClusterMember: clients cannot set the status at creation', () => {
  const { object } = decode<ClusterMember>(clusterMemberKind.schema, {
    metadata: { name: 'east' },
    spec: { secretRef: { name: 'east' } },
    status: { version: 'v1.0.0' },
  });
  assert.equal(clusterMemberKind.prepareForCreate(object, context).status, undefined);
});
