import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { dnsFlags } from './flags.ts';
import { testServer } from '../../server/testing/server.ts';
import { parseConfig } from '../options/config-file.ts';
import type { ActionCall, PartAction } from '../part/part.ts';
import { importCorefile } from './import-corefile.ts';
import { dnsOptionsOf } from './options.ts';
import { query } from './query.ts';

const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

/** Runs an action and returns its output. */
async function act(
  run: PartAction['run'],
  args: readonly string[],
  call: Partial<ActionCall> = {},
): Promise<{ readonly out: string; readonly err: string; readonly code: number }> {
  const printed = { out: '', err: '' };
  const code = await run({
    args,
    settings: new Map(),
    streams: { out: (text) => void (printed.out += text), err: (text) => void (printed.err += text) },
    connect: () => assert.fail('no cluster is needed'),
    settingsInCluster: async () => ({ settings: new Map(), pid: undefined }),
    ...call,
  });
  return { ...printed, code };
}

test('query reads the cluster and prints the answer with its sources', async () => {
  await using server = await testServer();
  const connect = async (): Promise<Client> => new Client(inProcess((request) => server.handle({ ...request, user })));
  await (
    await connect()
  ).create(serviceKind, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    status: { loadBalancer: {} },
  });
  const found = await act(query, ['_http._tcp.web.default.svc.cluster.local', 'srv'], { connect });
  assert.equal(found.code, 0);
  assert.match(found.out, /^;; NOERROR, authoritative$/m);
  assert.match(found.out, /SRV 0 100 80 web\.default\.svc\.cluster\.local\. ; Service\/default\/web$/m);
  const missing = await act(query, ['web.shop.svc.cluster.local'], { connect });
  assert.match(missing.out, /NXDOMAIN[^]*because namespace "shop" does not exist/i);
});

const refused: readonly { name: string; args: readonly string[]; want: RegExp }[] = [
  { name: 'an invalid domain name', args: ['a..b'], want: /^"a\.\.b" is not a domain name/ },
  { name: 'an unknown type', args: ['a.b', 'NOPE'], want: /^"NOPE" is not a record type/ },
];
for (const { name, args, want } of refused) {
  test(`query rejects ${name}`, () => assert.rejects(act(query, args), { message: want, code: 'USAGE' }));
}

test('import-corefile prints a file for --config, and notes directives without an equivalent', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-corefile-'));
  const file = join(folder, 'Corefile');
  try {
    await writeFile(
      file,
      `.:53 {
    errors
    health { lameduck 5s }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa { pods insecure; fallthrough in-addr.arpa ip6.arpa; ttl 30 }
    prometheus :9153
    forward . 192.0.2.1
    cache 30
    loop
    reload
    loadbalance
}
`
        .replaceAll('; ', '\n')
        .replaceAll('{ ', '{\n')
        .replaceAll(/ \}$/gm, '\n}'),
    );
    const { out, code } = await act(importCorefile, [file]);
    assert.equal(code, 0);
    const options = dnsOptionsOf(parseConfig(out, dnsFlags));
    assert.equal(options.zones.pods, 'insecure');
    assert.equal(options.zones.ttl, 30);
    assert.deepEqual(options.forward.upstreams, [{ address: '192.0.2.1', port: 53 }]);
    await writeFile(file, '.:53 {\n  nonsense\n');
    await assert.rejects(act(importCorefile, [file]), { message: `${file}: line 1: "{" is not closed`, code: 'USAGE' });
    await assert.rejects(act(importCorefile, [join(folder, 'none')]), { message: /^cannot read /, code: 'USAGE' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an invalid option is a usage error that names its flag', () => {
  assert.throws(() => dnsOptionsOf(new Map([['ttl', ['x']]])), { message: /for "--ttl" flag/, code: 'USAGE' });
  assert.equal(dnsOptionsOf(new Map([['kubeconfig', ['k']]])).workers, 1, 'flags of others are left alone');
});
