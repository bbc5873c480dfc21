import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ForwardSettings } from './options.ts';
import { defaultDnsOptions } from './options.ts';
import { endpointName } from './forward/upstream.ts';
import type { ForwardEnvironment } from './forward-plan.ts';
import { planForwarding } from './forward-plan.ts';

const { forward } = defaultDnsOptions;
const other = { address: '192.0.2.7', port: 53 };

const environment: ForwardEnvironment = {
  resolvConf: 'nameserver 192.0.2.1\nnameserver 10.0.0.5\n',
  own: { listen: [{ address: '::', port: 53 }], machine: ['10.0.0.5'] },
  clusterRanges: ['10.244.0.0/16'],
};

suite('planForwarding selects upstreams', () => {
  const table: readonly {
    name: string;
    given: Partial<ForwardSettings>;
    resolvConf?: string;
    want: readonly string[] | undefined;
    warnings: readonly RegExp[];
  }[] = [
    {
      name: 'of resolv.conf, without this server',
      given: {},
      want: ['192.0.2.1:53'],
      warnings: [/^ignored upstream 10\.0\.0\.5:53 of \/etc\/resolv\.conf: it is this server$/],
    },
    { name: 'of the options', given: { upstreams: [other] }, want: ['192.0.2.7:53'], warnings: [] },
    {
      name: 'of the options, without this server',
      given: { upstreams: [{ address: '127.0.0.1', port: 53 }, other] },
      want: ['192.0.2.7:53'],
      warnings: [/^ignored upstream 127\.0\.0\.1:53 of --upstream: it is this server/],
    },
    {
      name: 'on this machine with another port',
      given: { upstreams: [{ address: '127.0.0.1', port: 5353 }] },
      want: ['127.0.0.1:5353'],
      warnings: [],
    },
    { name: 'none', given: { upstreams: [] }, want: undefined, warnings: [] },
    {
      name: 'none, except for a stub zone',
      given: { upstreams: [], routes: new Map([['corp.example', [{ address: '192.0.2.9', port: 53 }]]]) },
      want: [],
      warnings: [],
    },
    {
      name: 'none, with a warning, if resolv.conf is empty',
      given: {},
      resolvConf: '',
      want: undefined,
      warnings: [/has no usable name server: pass --upstream$/],
    },
  ];
  for (const { name, given, resolvConf = environment.resolvConf, want, warnings } of table) {
    test(name, () => {
      const plan = planForwarding({ ...forward, ...given }, { ...environment, resolvConf });
      assert.deepEqual(plan.forwarder?.upstreams.map(endpointName), want);
      assert.equal(plan.warnings.length, warnings.length);
      for (const [index, pattern] of warnings.entries()) assert.match(plan.warnings[index] ?? '', pattern);
    });
  }
});

test('the cluster and the machine may recurse, unless allow-recursion lists others', () => {
  const standard = planForwarding(forward, environment);
  assert.deepEqual(standard.policy.allow, ['127.0.0.0/8', '::1/128', '10.0.0.5/32', '10.244.0.0/16']);
  const configured = planForwarding({ ...forward, allow: ['192.0.2.0/24'] }, environment);
  assert.deepEqual(configured.policy, { allow: ['192.0.2.0/24'], perSecond: 1000 });
});
