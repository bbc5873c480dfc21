import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readUpOptions } from './options.ts';

const settings = (given: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, readonly string[]> =>
  new Map(Object.entries(given));

describe('up options', () => {
  test('without flags there are east and west with their default ranges and ports', () => {
    const { clusters, ...rest } = readUpOptions(settings({}));
    assert.deepEqual(
      clusters.map(({ name, listen, serviceCidrs }) => [name, listen.host, listen.port, ...serviceCidrs]),
      [
        ['east', '127.0.0.1', 6443, '127.64.0.0/16'],
        ['west', '127.0.0.1', 6444, '127.65.0.0/16'],
      ],
    );
    assert.equal(rest.dataDir, '.fairlead');
    assert.equal(rest.store, 'sqlite');
    assert.equal(rest.proxy, 'userspace');
    assert.deepEqual(rest.nodePorts, { from: 30000, to: 32767 });
    assert.deepEqual(rest.apply, []);
  });

  test('every cluster allows endpoints in the default ranges of all', () => {
    const [first] = readUpOptions(settings({ cluster: ['a', 'b'] })).clusters;
    assert.deepEqual(first?.loopbackEndpoints, [
      '127.64.0.0/16',
      '127.128.0.0/16',
      '127.192.0.0/16',
      '127.65.0.0/16',
      '127.129.0.0/16',
      '127.193.0.0/16',
    ]);
  });

  test('a range can be set for one cluster', () => {
    const { clusters } = readUpOptions(settings({ 'service-cluster-ip-range': ['10.1.0.0/16,fd01::/112@west'] }));
    assert.deepEqual(
      clusters.map(({ serviceCidrs }) => serviceCidrs),
      [['127.64.0.0/16'], ['10.1.0.0/16', 'fd01::/112']],
    );
  });

  test('--port-base moves the API servers, and 0 lets the system choose', () => {
    const ports = (base: string): number[] =>
      readUpOptions(settings({ 'port-base': [base] })).clusters.map(({ listen }) => listen.port);
    assert.deepEqual(ports('7000'), [7000, 7001]);
    assert.deepEqual(ports('0'), [0, 0]);
  });

  test('--apply applies to every cluster, or to the named one', () => {
    assert.deepEqual(readUpOptions(settings({ apply: ['a.yaml', 'dir@west'] })).apply, [
      { path: 'a.yaml', cluster: undefined },
      { path: 'dir', cluster: 'west' },
    ]);
  });

  const errors: readonly { given: Readonly<Record<string, readonly string[]>>; want: RegExp }[] = [
    {
      given: { cluster: ['East'] },
      want: /^invalid argument "East" for "--cluster" flag: expected up to 63 lower-case letters/,
    },
    { given: { cluster: ['a', 'b', 'a'] }, want: /^cluster "a" is given twice/ },
    {
      given: { cluster: Array.from({ length: 65 }, (_, index) => `c${index}`) },
      want: /^65 clusters are given: the maximum is 64$/,
    },
    {
      given: { 'service-cluster-ip-range': ['10.0.0.0/16'] },
      want: /^--service-cluster-ip-range 10\.0\.0\.0\/16 of "east" and 10\.0\.0\.0\/16 of "west" overlap: give each/,
    },
    {
      given: { 'service-cluster-ip-range': ['10.0.0.0/16@north'] },
      want: /flag: no cluster "north": the clusters are east, west$/,
    },
    { given: { apply: ['x.yaml@north'] }, want: /for "--apply" flag: no cluster "north"/ },
    { given: { apply: ['@east'] }, want: /for "--apply" flag: expected a path$/ },
    {
      given: { store: ['etcd'] },
      want: /^--store etcd needs --etcd-servers, as in http:\/\/127\.0\.0\.1:2379$/,
    },
    { given: { store: ['disk'] }, want: /for "--store" flag: expected sqlite, memory or etcd$/ },
    { given: { etcd: ['http://127.0.0.1:2379'] }, want: /^--etcd needs --store etcd$/ },
    {
      given: { store: ['etcd'], 'etcd-servers': ['10.0.0.1'] },
      want: /^invalid argument "10.0.0.1" for "--etcd-servers" flag: expected URLs such as/,
    },
    {
      given: { store: ['etcd'], etcd: ['https://10.0.0.1:2379,http://10.0.0.2:2379'] },
      want: /^--etcd-servers has URLs with http:.* and https:.*: use one of them for all members$/,
    },
    {
      given: { store: ['etcd'], etcd: ['https://10.0.0.1:2379'], 'etcd-certfile': ['a.pem'] },
      want: /^--etcd-certfile and --etcd-keyfile must be given together$/,
    },
    { given: { proxy: ['ipvs'] }, want: /for "--proxy" flag: expected userspace, nftables or none$/ },
    { given: { parts: ['server,bgp'] }, want: /for "--parts" flag: unknown component "bgp": expected server, / },
    { given: { parts: ['dns'] }, want: /for "--parts" flag: "server" is missing: the other components need it$/ },
    { given: { 'port-base': ['65500'] }, want: /for "--port-base" flag: ports up to 65700 would be needed/ },
    {
      given: { 'feature-gates': ['Unheard=true'] },
      want: /^invalid argument "Unheard=true" for "--feature-gates" flag: unrecognized feature gate: Unheard$/,
    },
    { given: { 'log-level': ['loud'] }, want: /for "--log-level" flag: expected trace, debug, info, warn, error or/ },
  ];
  for (const { given, want } of errors) {
    test(`rejects ${JSON.stringify(given).slice(0, 60)}`, () =>
      assert.throws(() => readUpOptions(settings(given)), { message: want, code: 'USAGE' }));
  }
});
