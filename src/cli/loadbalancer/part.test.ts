import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatesWith } from '../../api/gates.ts';
import { part } from './part.ts';
import type { Settings } from '../options/flags.ts';

const settings = (given: Readonly<Record<string, string>>): Settings =>
  new Map(Object.entries(given).map(([name, value]) => [name, [value]]));
const pool = { pool: 'a=192.0.2.1' };

const aws = { provider: 'aws', 'cluster-name': 'east' };

const refused: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{}, /^no addresses to allocate: pass --pool NAME=RANGE,…$/],
  [{ pool: 'a' }, /for "--pool" flag: expected NAME=RANGE,… such as public=/],
  [{ pool: 'a=192.0.2.9-192.0.2.1' }, /"192\.0\.2\.9-192\.0\.2\.1" ends before it begins/],
  [{ ...pool, 'manual-pool': 'b=192.0.2.0/24' }, /^pools "a" and "b" have addresses in common$/],
  [{ ...pool, simulate: 'acme' }, /for "--simulate" flag: expected one of alibaba, aws, /],
  [{ ...pool, simulate: 'aws/alb' }, /its kinds are clb, nlb, nlb-lbc \(today\)/],
  [{ ...pool, simulate: 'aws/nlb-lbc', 'simulate-era': '2020-07' }, /its kinds are clb, nlb \(2020-07\)/],
  [{ ...pool, 'simulate-failures': '0.2' }, /^--simulate-failures requires --simulate CLOUD$/],
  [{ ...pool, simulate: 'aws', 'simulate-failures': '2' }, /expected a number from 0 to 1/],
  [{ ...pool, 'concurrent-service-syncs': '0' }, /expected a whole number from 1 to 1000/],
  [{ ...pool, interface: 'eth0 up' }, /for "--interface" flag: expected the name of an interface, such as eth0/],
  [{ provider: 'azure' }, /for "--provider" flag: expected local or aws$/],
  [{ provider: 'aws' }, /^--provider aws requires --cluster-name$/],
  [{ ...pool, 'aws-region': 'eu-central-1' }, /^--aws-region requires --provider aws$/],
  [{ ...aws, ...pool }, /^--pool cannot be combined with --provider aws$/],
  [{ ...aws, 'cluster-name': 'a/b' }, /for "--cluster-name" flag: expected letters, digits/],
  [{ ...aws, 'aws-subnets': 'subnet-0a,eu' }, /expected IDs such as subnet-0a1b, separated by commas/],
  [{ ...aws, 'aws-security-groups': 'default' }, /expected IDs such as sg-0a1b/],
  [{ ...aws, 'aws-endpoint': 'localhost' }, /expected http:/],
  [{ ...aws, 'aws-ec2-endpoint': 'ec2' }, /for "--aws-ec2-endpoint" flag: expected http:/],
  [{ ...pool, 'feature-gates': 'Nothing=true' }, /for "--feature-gates" flag: /],
];
for (const [given, want] of refused) {
  test(`fairlead loadbalancer rejects ${JSON.stringify(given)}`, () => {
    assert.throws(() => part.alone(settings(given), () => undefined), { message: want, code: 'USAGE' });
  });
}

test('accepts valid options, alone and under up', async () => {
  const cluster = { name: 'east', gates: gatesWith(), serviceCidrs: [] };
  assert.equal(typeof (await part.alone(settings(pool), () => undefined)()), 'function');
  assert.equal(typeof (await part.inUp(cluster)()), 'function');
  const inAws = settings({ ...aws, 'aws-region': 'eu-central-1', 'aws-subnets': 'subnet-0a, subnet-0b' });
  assert.equal(typeof (await part.alone(inAws, () => undefined)()), 'function');
  const simulated = settings({ simulate: 'gce/l4-l3', 'simulate-latency': '10ms' });
  assert.equal(typeof (await part.inUp({ ...cluster, settings: simulated })()), 'function');
});
