import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import type { Pki, PkiOptions } from './pki.ts';
import { ensurePki } from './pki.ts';
import { namesOf } from './renewal.ts';

describe('pki', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const daysLater = (days: number): Date => new Date(now.getTime() + days * 86_400_000);
  const east = { cluster: 'east', serviceIps: ['127.64.0.1', 'fd00::1'] };
  let directory = '';
  let first: Pki;
  const ensure = (changes: Partial<PkiOptions> = {}): Promise<Pki> =>
    ensurePki({ directory, ...east, now, ...changes });

  before(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'fairlead-pki-')), 'pki');
    first = await ensure();
  });
  after(() => rm(join(directory, '..'), { recursive: true, force: true }));

  const serving = (pki: Pki): X509Certificate => new X509Certificate(pki.serving.cert);

  test('issues everything at the first start and nothing at the next', async () => {
    assert.deepEqual(
      new Set(first.renewed.keys()),
      new Set(['ca', 'admin', 'apiserver', 'apiserver-kubelet-client', 'front-proxy-ca', 'front-proxy-client']),
    );
    const second = await ensure();
    assert.equal(second.renewed.size, 0);
    assert.deepEqual(second.serving, first.serving);
  });

  test('files are private', async () => {
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    const names = await readdir(directory);
    assert.deepEqual(names.sort(), [
      'admin.crt',
      'admin.key',
      'apiserver-kubelet-client.crt',
      'apiserver-kubelet-client.key',
      'apiserver.crt',
      'apiserver.key',
      'ca.crt',
      'ca.key',
      'front-proxy-ca.crt',
      'front-proxy-ca.key',
      'front-proxy-client.crt',
      'front-proxy-client.key',
    ]);
    for (const name of names) assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600, name);
  });

  test('the serving certificate has the names that clients use', () => {
    const { dns, ips } = namesOf(serving(first));
    assert.deepEqual(dns, [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ]);
    assert.deepEqual(ips, ['127.0.0.1', '::1', '127.64.0.1', 'fd00::1']);
  });

  test('the admin is in system:masters', () => {
    const admin = new X509Certificate(first.admin.cert);
    assert.equal(admin.subject, 'O=system:masters\nCN=kubernetes-admin');
    assert.deepEqual(admin.keyUsage, ['1.3.6.1.5.5.7.3.2']);
    assert.equal(admin.ca, false);
    assert.equal(new X509Certificate(first.ca).ca, true);
  });

  test('openssl verifies both certificates for their purpose', () => {
    for (const [name, purpose] of [
      ['apiserver', 'sslserver'],
      ['admin', 'sslclient'],
    ] as const) {
      const args = ['verify', '-x509_strict', '-attime', String(now.getTime() / 1000), '-purpose', purpose];
      const printed = execFileSync('openssl', [
        ...args,
        '-CAfile',
        join(directory, 'ca.crt'),
        join(directory, `${name}.crt`),
      ]);
      assert.match(printed.toString(), /: OK/);
    }
  });

  const renewals: readonly { name: string; changes: Partial<PkiOptions>; want: readonly string[] }[] = [
    { name: 'nothing during three quarters of the lifetime', changes: { now: daysLater(270) }, want: [] },
    {
      name: 'leaves near expiry',
      changes: { now: daysLater(280) },
      want: [
        'admin: near expiry',
        'apiserver-kubelet-client: near expiry',
        'apiserver: near expiry',
        'front-proxy-client: near expiry',
      ],
    },
    { name: 'nothing while the clock is an hour behind', changes: { now: daysLater(-1 / 24) }, want: [] },
    { name: 'nothing while the clock is years behind', changes: { now: new Date(0) }, want: [] },
    {
      name: 'the serving certificate when the Service range moved',
      changes: { serviceIps: ['10.0.0.1'] },
      want: ['apiserver: issued for other names'],
    },
    {
      name: 'everything when the authority is near expiry',
      changes: { now: daysLater(2800) },
      want: [
        'admin: near expiry',
        'apiserver-kubelet-client: near expiry',
        'apiserver: near expiry',
        'ca: near expiry',
        'front-proxy-ca: near expiry',
        'front-proxy-client: near expiry',
      ],
    },
  ];
  for (const { name, changes, want } of renewals) {
    test(`renews ${name}`, async () => {
      await using copy = await copyOf(directory);
      const { renewed } = await ensure({ directory: copy.path, ...changes });
      assert.deepEqual([...renewed].map(([file, reason]) => `${file}: ${reason}`).sort(), want);
    });
  }

  test('certificates are valid from a day earlier', async () => {
    for (const file of ['ca', 'admin', 'apiserver']) {
      const cert = new X509Certificate(await readFile(join(directory, `${file}.crt`)));
      assert.equal(cert.validFromDate.getTime(), daysLater(-1).getTime(), file);
    }
  });

  test('renews certificates that were issued while the clock was ahead', async () => {
    await using copy = await copyOf(directory);
    for (const file of ['apiserver.crt', 'admin.crt']) await rm(join(copy.path, file));
    await ensure({ directory: copy.path, now: daysLater(30) });
    const { renewed } = await ensure({ directory: copy.path });
    const late = ['admin: not valid yet', 'apiserver: not valid yet'];
    assert.deepEqual([...renewed].map(([file, reason]) => `${file}: ${reason}`).sort(), late);
  });

  for (const [file, want] of [
    ['apiserver.crt', 'apiserver: unreadable certificate'],
    ['apiserver.key', 'apiserver: key does not match the certificate'],
  ] as const) {
    test(`replaces a damaged ${file}`, async () => {
      await using copy = await copyOf(directory);
      await writeFile(join(copy.path, file), 'damaged');
      const { renewed } = await ensure({ directory: copy.path });
      assert.deepEqual(
        [...renewed].map(([name, reason]) => `${name}: ${reason}`),
        [want],
      );
    });
  }

  test('replaces certificates when the authority was lost', async () => {
    await using copy = await copyOf(directory);
    await rm(join(copy.path, 'ca.key'));
    const { renewed } = await ensure({ directory: copy.path });
    assert.deepEqual([...renewed].map(([name, reason]) => `${name}: ${reason}`).sort(), [
      'admin: signed by another authority',
      'apiserver-kubelet-client: signed by another authority',
      'apiserver: signed by another authority',
      'ca: missing',
    ]);
  });

  test('a TLS server and client with them trust each other', async () => {
    await using copy = await copyOf(directory);
    const today = await ensure({
      directory: copy.path,
      now: new Date(),
      serviceIps: [],
    });
    const pair = today.serving;
    const server = createServer({ ...pair, ca: today.ca, requestCert: true, rejectUnauthorized: true }, (socket) => {
      socket.end(String(socket.getPeerCertificate().subject.CN));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const address = server.address();
      assert.ok(address !== null && typeof address === 'object');
      const socket = connect({ port: address.port, host: '127.0.0.1', ca: today.ca, ...today.admin });
      const chunks = await socket.toArray();
      assert.equal(Buffer.concat(chunks).toString(), 'kubernetes-admin');
    } finally {
      server.close();
    }
  });
});

async function copyOf(directory: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-pki-'));
  await cp(directory, path, { recursive: true });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
