import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { run } from '../run.ts';

const example = join(import.meta.dirname, '../../../examples/loadbalancer/dns.yaml');

async function capture(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const code = await run(['lb', ...args], {
    out: (text) => (printed.out += text),
    err: (text) => (printed.err += text),
  });
  return { code, ...printed };
}

test('LB-21 a plan lists every cloud with its support, units and cost', async () => {
  const { code, out } = await capture('plan', '-f', example, '--other-units', '4');
  assert.equal(code, 0);
  assert.match(out, /^default\/dns {2}53\/UDP, 53\/TCP\nPROVIDER +KIND +WORKS /);
  assert.match(out, /^aws +clb\* +no +- .* AWS ELB supports only TCP, not UDP$/m);
  assert.match(out, /^azure +standard\* +yes +7 +4→6 of 5 +\+7\.30 +\+7\.30 /m);
  assert.match(out, /^gce +l4-l3 +yes +6 +4→5 of 5 +\+0\.00 +\+0\.00 /m);
  assert.match(out, /USD are prices of \d{4}-\d\d/);
  assert.match(out, /^azure: the base price is for 5 of the load balancer of the cluster/m);
});

test('LB-21 a plan is JSON for programs, limited to the named clouds and products', async () => {
  const { out } = await capture('plan', '-f', example, '--provider', 'gce/l4-split,oracle', '-o', 'json');
  const [plan] = JSON.parse(out) as [{ providers: { provider: string; kind: string; works: boolean; bill: object }[] }];
  assert.deepEqual(
    plan.providers.map(({ provider, kind, works }) => `${provider}/${kind} ${works}`),
    ['gce/l4-split true', 'oracle/lb false', 'oracle/nlb true'],
  );
  assert.partialDeepStrictEqual(plan.providers[0]?.bill, { unitsBefore: 0, unitsAfter: 2, threshold: { left: 3 } });
});

test('LB-21 prices of a file have precedence over built-in prices', async () => {
  const prices = join(import.meta.dirname, '../../../examples/loadbalancer/prices.yaml');
  const { out } = await capture('plan', '-f', example, '--provider', 'openstack', '--prices', prices);
  assert.match(out, /^openstack +octavia\* +yes +\d+ +0→2 +\+8\.76 +\+0\.00 .*our own cloud$/m);
  assert.match(out, /USD are prices of 2026-10, 2026-11;/);
});

test('LB-5 a Service with the best-effort policy is planned in part', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lb-'));
  const file = join(directory, 'dns.yaml');
  const annotation = '\n  annotations: { loadbalancer.fairlead.dev/port-policy: best-effort }';
  await writeFile(file, (await readFile(example, 'utf8')).replace(/^metadata:$/m, `$&${annotation}`));
  const { out } = await capture('plan', '-f', file, '--provider', 'gce/ccm,oracle/lb');
  await rm(directory, { recursive: true });
  assert.match(out, /^gce +ccm\* +in part +\d+ +0→1 of 5 .*does not support UDP and TCP on one load balancer/m);
  assert.match(out, /^oracle +lb\* +in part +\d+ +0→1 /m);
});

test('LB-8 without the gate mixed protocols are refused', async () => {
  const { out } = await capture(
    'plan',
    '-f',
    example,
    '--provider',
    'azure',
    '--feature-gates',
    'MixedProtocolLBService=false',
  );
  assert.match(out, /^azure +standard\* +no .*MixedProtocolLBService, which is off$/m);
});

test('providers lists the behavior in 2020 and today', async () => {
  assert.match(
    (await capture('providers', '--era', '2020-07')).out,
    /^digitalocean +regional +TCP +.* no +forwarding rule +flat/m,
  );
  assert.match((await capture('providers')).out, /^aws +nlb-lbc +TCP\+UDP +TLS\+QUIC +yes /m);
  assert.equal((JSON.parse((await capture('providers', '-o', 'json')).out) as unknown[]).length, 19);
});

describe('invalid input', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-lb-'));
  });
  after(() => rm(folder, { recursive: true }));

  const write = async (text: string): Promise<string> => {
    const file = join(folder, 'service.yaml');
    await writeFile(file, text);
    return file;
  };
  const manifest = (spec: string): string => `apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: ${spec}\n`;

  test('is reported in one line with place and reason', async () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      [manifest('{type: ClusterIP, ports: [{port: 80}]}'), /there is 1 Services?, but none of type LoadBalancer in /],
      [manifest('{type: LoadBalancer, ports: [{port: 0}]}'), /Service "web" is invalid: spec\.ports\[0\]\.port: /],
      [manifest('{type: LoadBalancer, prots: []}'), /service\.yaml: unknown field "spec\.prots"/],
      ['kind: Pod\napiVersion: v1\nmetadata: {name: a}\n', /there is no Service in /],
    ];
    for (const [text, want] of cases) {
      const { code, err } = await capture('plan', '-f', await write(text));
      assert.equal(code, 2, err);
      assert.match(err, want);
    }
  });

  test('flags likewise', async () => {
    const cases: readonly (readonly [string[], RegExp])[] = [
      [['plan'], /no Services to plan: pass -f FILE/],
      [['plan', '-f', '/nowhere.yaml'], /cannot read -f \/nowhere\.yaml: no such file or directory/],
      [['plan', '-f', example, '--provider', 'acme'], /no provider "acme" \(today\): choose from alibaba, /],
      [['plan', '-f', example, '--other-units', '-1'], /for "--other-units" flag: expected a whole number/],
      [
        ['plan', '-f', example, '--prices', '/nowhere.yaml'],
        /^fairlead: cannot read --prices \/nowhere\.yaml: no such file or directory\n$/,
      ],
      [['plan', '-f', example, '--prices', example], /dns\.yaml: there is no "apiVersion": expected one of alibaba/],
      [['price'], /unknown action "price" of lb/],
    ];
    for (const [args, want] of cases) {
      const { code, err } = await capture(...args);
      assert.equal(code, 2, err);
      assert.match(err, want);
    }
  });
});
