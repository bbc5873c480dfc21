import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceWith } from '../testing/service.ts';
import { cleanupFinalizer, needsCleanup, needsUpdate, needsLoadBalancer } from './needs.ts';
import { eligibleNodes, affectsLoadBalancers } from './backends.ts';

const base = serviceWith('80/TCP 53/UDP');
const spec = (changes: Partial<Service['spec']>): Service => ({ ...base, spec: { ...base.spec, ...changes } });
const metadata = (changes: Service['metadata']): Service => ({ ...base, metadata: { ...base.metadata, ...changes } });
const [first, second] = base.spec.ports ?? [];
assert.ok(first && second);

const changes: readonly (readonly [what: string, next: Service, want: boolean])[] = [
  ['nothing', { ...base }, false],
  ['labels', metadata({ labels: { a: 'b' } }), false],
  ['an annotation', metadata({ annotations: { a: 'b' } }), true],
  ['the UID', metadata({ uid: 'other' }), true],
  ['the selector', spec({ selector: { a: 'b' } }), false],
  ['the status', { ...base, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } } }, false],
  ['the inner policy', spec({ internalTrafficPolicy: 'Local' }), false],
  ['whether there are node ports', spec({ allocateLoadBalancerNodePorts: false }), false],
  ['the type', spec({ type: 'NodePort' }), true],
  ['the order of ports', spec({ ports: [second, first] }), true],
  ['the protocol of a port', spec({ ports: [{ ...first, protocol: 'SCTP' }, second] }), true],
  ['the name of a port', spec({ ports: [{ ...first, name: 'x' }, second] }), true],
  ['a node port', spec({ ports: [{ ...first, nodePort: 31_999 }, second] }), true],
  ['a target port', spec({ ports: [{ ...first, targetPort: 'http' }, second] }), true],
  ['an application protocol', spec({ ports: [{ ...first, appProtocol: 'http' }, second] }), true],
  ['source ranges', spec({ loadBalancerSourceRanges: ['192.0.2.0/24'] }), true],
  ['affinity', spec({ sessionAffinity: 'ClientIP' }), true],
  ['the address', spec({ loadBalancerIP: '192.0.2.1' }), true],
  ['external addresses', spec({ externalIPs: ['192.0.2.1'] }), true],
  ['the outer policy', spec({ externalTrafficPolicy: 'Local' }), true],
  ['the port of health checks', spec({ healthCheckNodePort: 30_001 }), true],
  ['the number of families', spec({ ipFamilies: ['IPv4', 'IPv6'] }), true],
];
for (const [what, next, want] of changes) {
  test(`${what} ${want ? 'requires' : 'does not require'} a sync`, () => {
    assert.equal(needsUpdate(base, next, []), want);
    assert.equal(needsUpdate(next, base, []), want);
  });
}

test('handles only Services of its own classes or of no class', () => {
  assert.equal(needsLoadBalancer(base, []), true);
  const classed = spec({ loadBalancerClass: 'example.org/x' });
  assert.equal(needsLoadBalancer(classed, []), false);
  assert.equal(needsLoadBalancer(classed, ['example.org/x']), true);
  assert.equal(needsLoadBalancer(spec({ type: 'ClusterIP' }), []), false);
});

test('cleans up a Service with the finalizer that is deleted or of another type', () => {
  const finalizers = [cleanupFinalizer];
  assert.equal(needsCleanup(metadata({ finalizers }), []), false);
  assert.equal(needsCleanup(metadata({ finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' }), []), true);
  assert.equal(needsCleanup(metadata({ deletionTimestamp: '2026-01-01T00:00:00Z' }), []), false);
  assert.equal(needsCleanup({ ...spec({ type: 'ClusterIP' }), metadata: { finalizers } }, []), true);
  const theirs = spec({ type: 'LoadBalancer', loadBalancerClass: 'example.org/x' });
  assert.equal(
    needsCleanup({ ...theirs, metadata: { finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' } }, []),
    false,
  );
});

const node = (name: string, meta: Node['metadata'] = {}, nodeSpec: Node['spec'] = {}): Node => ({
  metadata: { name, ...meta },
  spec: nodeSpec,
  status: {} as Node['status'],
});
const label = 'node.kubernetes.io/exclude-from-external-load-balancers';

test('omits nodes that are being deleted, excluded or scaled down, but not unready ones', () => {
  const nodes = [
    node('b'),
    node('a'),
    node('leaving', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    node('excluded', { labels: { [label]: 'true' } }),
    node('unreadable', { labels: { [label]: 'perhaps' } }),
    node('included', { labels: { [label]: 'false' } }),
    node('scaled', {}, { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] }),
  ];
  assert.deepEqual(
    eligibleNodes(nodes).nodes.map(({ metadata: { name } }) => name),
    ['a', 'b', 'included'],
  );
});

test('the exclusion label and provider ID affect load balancers, other labels do not', () => {
  assert.equal(affectsLoadBalancers(node('a', { labels: { [label]: '' } }), node('a')), true);
  assert.equal(affectsLoadBalancers(node('a', {}, { providerID: 'x://1' }), node('a')), true);
  assert.equal(affectsLoadBalancers(node('a', { labels: { zone: 'b' } }), node('a')), false);
  assert.notEqual(
    eligibleNodes([node('a', {}, { providerID: 'x://1' })]).signature,
    eligibleNodes([node('a')]).signature,
  );
});
