import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Route } from '../routes/route.ts';
import { Conntrack, parseFlows, staleFlows, frontendsToCheck } from './conntrack.ts';

const listing = `ipv4     2 udp      17 29 src=192.0.2.9 dst=10.96.0.10 sport=46450 dport=53 src=10.1.0.11 dst=10.1.0.1 sport=8080 dport=34128 mark=0 use=1
ipv4     2 udp      17 29 src=192.0.2.9 dst=10.96.0.10 sport=46451 dport=53 [UNREPLIED] src=10.96.0.10 dst=192.0.2.9 sport=53 dport=46451 mark=0 use=1
ipv4     2 udp      17 29 src=192.0.2.9 dst=192.0.2.1 sport=46452 dport=30053 src=192.0.2.1 dst=192.0.2.9 sport=30053 dport=46452 [ASSURED] mark=0 use=1
ipv6     10 udp      17 29 src=2001:db8:2::9 dst=2001:db8:96::10 sport=41103 dport=53 src=2001:db8:1::11 dst=2001:db8:1::1 sport=8080 dport=42208 mark=0 use=1
ipv4     2 tcp      6 100 ESTABLISHED src=192.0.2.9 dst=10.96.0.10 sport=1 dport=53 src=10.1.0.99 dst=10.1.0.1 sport=8080 dport=1 use=1
conntrack v1.4.7 (conntrack-tools): 5 flow entries have been shown.`;

const route = (serving: readonly string[], settings: Partial<Route> = {}): Route => ({
  owner: 'Service shop/dns',
  portName: '',
  kind: 'clusterIP',
  family: 'IPv4',
  address: '10.96.0.10',
  protocol: 'UDP',
  port: 53,
  action: serving.length === 0 ? { type: 'reject' } : { type: 'forward', targets: [] },
  masquerade: 'outsiders',
  serving: new Set(serving),
  ...settings,
});

const stale = (removed: readonly Route[], added: readonly Route[]): readonly number[] =>
  staleFlows(parseFlows(listing), frontendsToCheck({ removed, added })).map(({ sourcePort }) => sourcePort);

test('parses UDP flows only', () => {
  const flows = parseFlows(listing);
  assert.equal(flows.length, 4);
  assert.deepEqual(flows[3], {
    source: '2001:db8:2::9',
    sourcePort: 41103,
    address: '2001:db8:96::10',
    port: 53,
    answers: '2001:db8:1::11 8080',
  });
  assert.deepEqual(parseFlows('nonsense\nudp src=x'), []);
});

test('selects flows whose endpoint does not serve, and those that began without one', () => {
  assert.deepEqual(stale([route([])], [route(['10.1.0.11 8080'])]), [46451]);
  assert.deepEqual(stale([route(['10.1.0.11 8080'])], [route(['10.1.0.12 8080'])]), [46450, 46451]);
  assert.deepEqual(stale([route(['10.1.0.11 8080'])], [route([])]), [46450, 46451]);
  assert.deepEqual(stale([route(['10.1.0.11 8080'])], []), [46450, 46451], 'the Service is gone');
});

test('skips frontends that lose no endpoint', () => {
  const before = route(['10.1.0.11 8080']);
  assert.equal(frontendsToCheck({ removed: [before], added: [route(['10.1.0.11 8080', '10.1.0.12 8080'])] }).size, 0);
  assert.equal(frontendsToCheck({ removed: [], added: [route([], { protocol: 'TCP' })] }).size, 0);
});

test('keeps flows that the node itself answers', () => {
  const nodePort = { kind: 'nodePort' as const, address: '192.0.2.1', port: 30053 };
  assert.deepEqual(stale([route(['10.1.0.11 8080'], nodePort)], []), []);
  assert.deepEqual(stale([], [route(['10.1.0.11 8080'], nodePort)]), [46452]);
});

test('reports a missing conntrack program with its consequence', async () => {
  const conntrack = new Conntrack(['no-such-conntrack-program']);
  assert.equal(conntrack.problem, undefined);
  assert.equal(await conntrack.deleteStale(frontendsToCheck({ removed: [], added: [route([])] })), 0);
  assert.equal(
    conntrack.problem,
    'no program "no-such-conntrack-program": UDP clients may stay with endpoints that are gone; install conntrack-tools',
  );
});
