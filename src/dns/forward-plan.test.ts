import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { readDnsOptions } from './config.ts';
import { endpointName } from './forward/upstream.ts';
import type { Surroundings } from './forward-plan.ts';
import { planForwarding } from './forward-plan.ts';

const surroundings: Surroundings = {
  resolvConf: 'nameserver 192.0.2.1\nnameserver 10.0.0.5\n',
  own: { listen: [{ address: '::', port: 53 }], machine: ['10.0.0.5'] },
  clusterRanges: ['10.244.0.0/16'],
};

suite('whom to ask', () => {
  const table: readonly {
    name: string;
    given: Readonly<Record<string, string>>;
    resolvConf?: string;
    want: readonly string[] | undefined;
    warnings: readonly RegExp[];
  }[] = [
    {
      name: 'the servers of the machine, but for ourselves',
      given: {},
      want: ['192.0.2.1:53'],
      warnings: [/^10\.0\.0\.5:53 of \/etc\/resolv\.conf is this server itself: not asked$/],
    },
    { name: 'those that were named', given: { upstream: '192.0.2.7' }, want: ['192.0.2.7:53'], warnings: [] },
    {
      name: 'not ourselves, even if named',
      given: { upstream: '127.0.0.1,192.0.2.7' },
      want: ['192.0.2.7:53'],
      warnings: [/^127\.0\.0\.1:53 of --upstream is this server itself/],
    },
    {
      name: 'one on this machine with another port',
      given: { upstream: '127.0.0.1:5353' },
      want: ['127.0.0.1:5353'],
      warnings: [],
    },
    { name: 'nobody', given: { upstream: 'none' }, want: undefined, warnings: [] },
    {
      name: 'nobody but for a zone',
      given: { upstream: 'none', 'stub-zone': 'corp.example=192.0.2.9' },
      want: [],
      warnings: [],
    },
    {
      name: 'a machine without servers',
      given: {},
      resolvConf: '',
      want: undefined,
      warnings: [/names no server to ask: pass --upstream$/],
    },
  ];
  for (const { name, given, resolvConf = surroundings.resolvConf, want, warnings } of table) {
    test(name, () => {
      const settings = new Map(Object.entries(given).map(([key, value]) => [key, [value]]));
      const plan = planForwarding(readDnsOptions(settings).forward, { ...surroundings, resolvConf });
      assert.deepEqual(plan.forwarder?.upstreams.map(endpointName), want);
      assert.equal(plan.warnings.length, warnings.length);
      for (const [index, pattern] of warnings.entries()) assert.match(plan.warnings[index] ?? '', pattern);
    });
  }
});

test('who may ask: the cluster and the machine, unless told otherwise', () => {
  const standard = planForwarding(readDnsOptions(new Map()).forward, surroundings);
  assert.deepEqual(standard.policy.allow, ['127.0.0.0/8', '::1/128', '10.0.0.5/32', '10.244.0.0/16']);
  const told = planForwarding(readDnsOptions(new Map([['allow-recursion', ['192.0.2.0/24']]])).forward, surroundings);
  assert.deepEqual(told.policy, { allow: ['192.0.2.0/24'], perSecond: 1000 });
});
