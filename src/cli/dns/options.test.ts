import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { load } from 'js-yaml';

import { endpointName } from '../../dns/forward/upstream.ts';
import { defaultDnsOptions } from '../../dns/options.ts';
import { dnsFlags } from './flags.ts';
import { printConfig } from './import-corefile.ts';
import { dnsOptionsOf } from './options.ts';

/** `name=value` or `name` for each setting. */
function settings(...given: readonly string[]): Map<string, readonly string[]> {
  const all = new Map<string, readonly string[]>();
  for (const each of given) {
    const [name = '', ...value] = each.split('=');
    all.set(name, [...(all.get(name) ?? []), value.join('=')]);
  }
  return all;
}

test('without options the defaults are those of CoreDNS, with a few exceptions', () => {
  const options = dnsOptionsOf(new Map());
  assert.deepEqual(options, defaultDnsOptions);
  assert.deepEqual(options.listen.map(endpointName), ['[::]:53']);
  assert.equal(options.zones.clusterDomain, 'cluster.local');
  assert.equal(options.zones.clustersetDomain, 'clusterset.local');
  assert.equal(options.zones.superclusterDomain, 'supercluster.local');
  assert.equal(options.forward.upstreams, undefined);
  assert.equal(options.forward.cache.staleFor, 86_400);
  assert.equal(options.namespaces, undefined);
});

test('health, readiness and metrics share one loopback port unless others are given', () => {
  const shared = '127.0.0.1:10361';
  const cases: readonly (readonly [given: readonly string[], want: readonly (string | undefined)[]])[] = [
    [[], [shared, shared, shared]],
    [['health-listen=:9000'], ['[::]:9000', '[::]:9000', '[::]:9000']],
    [['metrics-listen=:9153'], [shared, shared, '[::]:9153']],
    [['health-listen=none'], [undefined, undefined, undefined]],
    [['coredns-ports=true'], ['[::]:8080', '[::]:8181', '[::]:9153']],
    [
      ['coredns-ports=true', 'ready-listen=none', 'metrics-listen=127.0.0.1:9153'],
      ['[::]:8080', undefined, '127.0.0.1:9153'],
    ],
  ];
  for (const [given, want] of cases) {
    const { health, ready, metrics } = dnsOptionsOf(settings(...given));
    const found = [health, ready, metrics].map((place) => place && endpointName(place));
    assert.deepEqual(found, want, given.join(' '));
  }
});

test('the documented defaults are the effective ones', () => {
  const shown = dnsFlags.flatMap(({ name, default: fallback }) =>
    fallback === undefined || fallback.includes(' ') ? [] : [`${name}=${fallback}`],
  );
  assert.deepEqual(
    { ...dnsOptionsOf(settings(...shown)), zones: undefined },
    { ...dnsOptionsOf(new Map()), zones: undefined },
  );
});

test('parses every option', () => {
  const options = dnsOptionsOf(
    settings(
      'listen=127.0.0.1:1053',
      'listen=[::1]:1053',
      'listen=:0',
      'listen=[::1]:0',
      'cluster-domain=Example.Local.',
      'supercluster-domain=none',
      'reverse-zones=10.0.0.0/8, fd00::/8',
      'ttl=30',
      'pods=verified',
      'endpoint-pod-names=true',
      'namespaces=a,b',
      'upstream=192.0.2.1,[2001:db8::1]:5353',
      'stub-zone=corp.example=192.0.2.2,192.0.2.3',
      'stub-zone=a.example=192.0.2.4,b.example=192.0.2.5:54,192.0.2.6',
      'forward-timeout=2s500ms',
      'serve-stale=0s',
      'transfer-to=192.0.2.9',
      'metrics-listen=none',
    ),
  );
  assert.deepEqual(options.listen.map(endpointName), ['127.0.0.1:1053', '[::1]:1053', '[::]:0', '[::1]:0']);
  assert.equal(options.zones.clusterDomain, 'example.local');
  assert.equal(options.zones.superclusterDomain, undefined);
  assert.deepEqual(options.zones.reverseCidrs, ['10.0.0.0/8', 'fd00::/8']);
  assert.deepEqual(options.forward.upstreams?.map(endpointName), ['192.0.2.1:53', '[2001:db8::1]:5353']);
  assert.deepEqual(
    Array.from(options.forward.routes, ([zone, servers]) => `${zone} ${servers.map(endpointName).join(' ')}`),
    ['corp.example 192.0.2.2:53 192.0.2.3:53', 'a.example 192.0.2.4:53', 'b.example 192.0.2.5:54 192.0.2.6:53'],
  );
  assert.equal(options.forward.deadlineMs, 2500);
  assert.equal(options.forward.cache.staleFor, 0);
  assert.deepEqual(options.transfer.to, ['192.0.2.9/32']);
  assert.equal(options.metrics, undefined);
  assert.deepEqual(dnsOptionsOf(settings('upstream=none')).forward.upstreams, []);
});

suite('rejects an invalid value with its name and what was expected', () => {
  const table: readonly (readonly [given: string, want: string])[] = [
    ['ttl=7200', 'invalid argument "7200" for "--ttl" flag: expected a whole number from 0 to 3600'],
    ['ttl=5s', 'invalid argument "5s" for "--ttl" flag: expected a whole number from 0 to 3600'],
    ['pods=all', 'invalid argument "all" for "--pods" flag: expected disabled, insecure or verified'],
    [
      'cluster-domain=a..b',
      'invalid argument "a..b" for "--cluster-domain" flag: expected a domain name, such as cluster.local',
    ],
    ['cluster-domain=clusterset.local', '"clusterset.local" is given for two zones: every zone needs its own name'],
    [
      'upstream=192.0.2.1,dns.example',
      'invalid argument "192.0.2.1,dns.example" for "--upstream" flag: "dns.example": expected an address such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:53',
    ],
    [
      'stub-zone=192.0.2.1',
      'invalid argument "192.0.2.1" for "--stub-zone" flag: expected ZONE=ADDR, such as corp.example=192.0.2.1',
    ],
    [
      'stub-zone=a.example=',
      'invalid argument "a.example=" for "--stub-zone" flag: expected an address after "a.example="',
    ],
    [
      'listen=53',
      'invalid argument "53" for "--listen" flag: expected ADDR:PORT, such as :53, 127.0.0.1:1053 or [::1]:53',
    ],
    ['zonal=yes', 'invalid argument "yes" for "--zonal" flag: strconv.ParseBool: parsing "yes": invalid syntax'],
    [
      'forward-timeout=4',
      'invalid argument "4" for "--forward-timeout" flag: time: invalid duration "4": expected one such as 500ms, 15s or 1m30s',
    ],
    ['forward-timeout=4ms', 'invalid argument "4ms" for "--forward-timeout" flag: expected at least 100ms'],
    [
      'allow-recursion=10.0.0.0/99',
      'invalid argument "10.0.0.0/99" for "--allow-recursion" flag: "10.0.0.0/99": expected a CIDR such as 10.0.0.0/8',
    ],
    [
      'namespaces=Default',
      'invalid argument "Default" for "--namespaces" flag: "Default": expected the name of a namespace, such as kube-system',
    ],
  ];
  for (const [given, want] of table) {
    test(given, () => assert.throws(() => dnsOptionsOf(settings(given)), { message: want, code: 'USAGE' }));
  }

  test('rejects two stub-zone options for one zone', () => {
    const given = settings('stub-zone=a.example=192.0.2.1', 'stub-zone=a.example=192.0.2.2');
    assert.throws(() => dnsOptionsOf(given), { message: /given twice for "a\.example"/ });
  });
});

test('a printed file describes every key and parses to the same options', () => {
  const given = settings(
    'ttl=30',
    'listen=:1053',
    'listen=[::1]:53',
    'stub-zone=corp.example=192.0.2.1',
    'namespaces=null',
    'zonal=true',
  );
  const text = printConfig(given, ['made by a test']);
  const read = load(text);
  assert.deepEqual(read, {
    ttl: 30,
    listen: [':1053', '[::1]:53'],
    'stub-zone': ['corp.example=192.0.2.1'],
    namespaces: 'null',
    zonal: true,
  });
  for (const { name, description } of dnsFlags)
    assert.ok(text.includes(`# ${description}`) && text.includes(`${name}:`));
});

test('the example configuration contains every key with its default', async () => {
  const file = new URL('../../../examples/dns/config.yaml', import.meta.url);
  const text = await readFile(file, 'utf8');
  const [heading = ''] = text.split('\n\n', 1);
  const lines = heading.split('\n').map((line) => line.replace(/^# /, ''));
  assert.equal(text, printConfig(new Map(), lines));
});
