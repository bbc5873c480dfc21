import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { ProxyOptions } from '../options.ts';
import { nodeNetwork, thisNode } from './node.ts';

const node = {
  metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'a' } },
  spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24', '2001:db8:1::/64'] },
  status: {
    addresses: [
      { type: 'ExternalIP', address: '203.0.113.1' },
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: '192.0.2.2' },
      { type: 'InternalIP', address: '2001:DB8::1' },
      { type: 'Hostname', address: 'n1' },
    ],
  },
  // Only the fields that are read are written out.
} as unknown as Node;
const machineAddresses = ['127.0.0.1', '::1', '192.0.2.1', '192.0.2.77', '2001:db8::1'];
const around = (options: Partial<ProxyOptions> = {}, of: Node | undefined = node) => ({
  node: of,
  machineAddresses,
  serviceCidrs: [{ metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.5/16'] }, status: {} }],
  options: { nodeName: 'n1', mode: 'nftables' as const, ...options },
});

test('serves node ports at the first address of each family, InternalIP before ExternalIP', () => {
  assert.deepEqual(thisNode(around()).nodePortAddresses, ['192.0.2.1', '2001:db8::1']);
});

test('serves node ports at addresses in the ranges, at loopback only on request', () => {
  const ports = (...nodePortAddresses: readonly string[]): readonly string[] =>
    thisNode(around({ nodePortAddresses })).nodePortAddresses;
  assert.deepEqual(ports('0.0.0.0/0'), ['192.0.2.1', '192.0.2.77']);
  assert.deepEqual(ports('192.0.2.64/26', '::/0'), ['192.0.2.77', '2001:db8::1']);
  assert.deepEqual(ports('127.0.0.0/8', '::1/128'), ['127.0.0.1', '::1']);
  assert.deepEqual(ports('127.0.0.2/32'), ['127.0.0.2']);
  assert.deepEqual(ports('primary', '127.0.0.0/8'), ['192.0.2.1', '2001:db8::1', '127.0.0.1']);
});

test('leaves the labels of an unknown node undefined', () => {
  const unknown = { ...around(), node: undefined };
  assert.equal(thisNode(unknown).labels, undefined);
  assert.deepEqual(thisNode(unknown).nodePortAddresses, []);
  assert.equal(thisNode(around()).labels?.['kubernetes.io/hostname'], 'n1');
});

test('reads networks from the Node and ServiceCIDRs, or from options', () => {
  assert.deepEqual(nodeNetwork(around()), {
    addresses: new Set(machineAddresses),
    podRanges: ['10.1.0.0/24', '2001:db8:1::/64'],
    serviceRanges: ['10.96.0.0/16'],
    masqueradeAll: false,
  });
  const network = nodeNetwork(
    around({ podRanges: ['10.0.0.0/8', 'nonsense'], serviceRanges: ['10.97.0.0/16'], masqueradeAll: true }),
  );
  assert.deepEqual(network.podRanges, ['10.0.0.0/8']);
  assert.deepEqual(network.serviceRanges, ['10.96.0.0/16', '10.97.0.0/16']);
  assert.equal(network.masqueradeAll, true);
});
