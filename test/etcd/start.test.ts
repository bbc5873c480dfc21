// Starts that must fail: with one line that names the problem and the fix, and before anything is written to etcd.

import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

import type { KeyPair } from '../../src/server/pki/issue.ts';
import { issue, issueCa } from '../../src/server/pki/issue.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import { until } from '../../src/server/testing/until.ts';
import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { TestEtcd } from '../../src/store/etcd/testing/etcd.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { FairleadProcess } from '../harness/process.ts';
import { callEtcd } from './gateway.ts';
import { Link } from './link.ts';

const skip = unlessInstalled('etcd');
const validity = { now: new Date(), days: 1 };
const names = { dns: [], ips: ['127.0.0.1'] };

suite('starts with etcd', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let plain: TestEtcd;
  /** Requires client certificates. */
  let secure: TestEtcd;
  let url = '';
  let secureUrl = '';
  const path = (name: string): string => join(folder, name);
  const tlsFlags = (): readonly string[] => {
    const server = ['--cert-file', path('etcd.crt'), '--key-file', path('etcd.key')];
    return [...server, '--client-cert-auth', '--trusted-ca-file', path('ca.crt')];
  };
  before(async () => {
    folder = stack.use(await temporaryDirectory()).path;
    const ca = await issueCa('etcd-ca', validity);
    const other = await issueCa('other-ca', validity);
    const save = async (name: string, { cert, key }: KeyPair): Promise<void> => {
      await Promise.all([writeFile(path(`${name}.crt`), cert), writeFile(path(`${name}.key`), key)]);
    };
    const client = { use: 'client', commonName: 'fairlead', groups: [] } as const;
    await Promise.all([
      save('ca', ca),
      save('other', other),
      save('etcd', await issue(ca, { use: 'server', commonName: 'etcd', names }, validity)),
      save('client', await issue(ca, client, validity)),
      save('stranger', await issue(other, client, validity)),
    ]);
    plain = stack.use(await startEtcd({ isDurable: false }));
    secure = stack.use(await startEtcd({ scheme: 'https', flags: tlsFlags(), isDurable: false }));
    [url = ''] = plain.urls;
    [secureUrl = ''] = secure.urls;
  });
  after(() => stack.disposeAsync());

  /** Starts a server that must not become ready; returns its exit code and the last line that it printed. */
  const refused = async (
    ...flags: readonly string[]
  ): Promise<{ readonly code: number | null; readonly line: string }> => {
    await using directory = await temporaryDirectory();
    const store = ['--store', 'etcd', '--etcd-timeout', '1s'];
    const args = ['server', '--data-dir', directory.path, '--secure-port', '0', ...store, ...flags];
    await using server = new FairleadProcess(args);
    const code = await server.ended();
    assert.doesNotMatch(server.out, /ready/);
    return { code, line: server.err.trimEnd().split('\n').at(-1) ?? '' };
  };

  test('names the endpoints and the reason when no member answers', async () => {
    const endpoints = 'http://127.0.0.1:1,http://127.0.0.1:2';
    const { code, line } = await refused('--etcd-servers', endpoints);
    assert.match(
      line,
      /^fairlead: cannot use etcd http:\/\/127.0.0.1:1,http:\/\/127.0.0.1:2: .*ECONNREFUSED 127.0.0.1:/,
    );
    assert.equal(code, 1);
  });

  test('fails on a member that accepts connections and does not answer', async () => {
    await using link = await Link.open(url);
    link.cut();
    const { code, line } = await refused('--etcd', link.url);
    assert.equal(line, `fairlead: cannot use etcd ${link.url}: no answer in time`);
    assert.equal(code, 1);
  });

  const flagsOf = (names: { readonly ca?: string; readonly pair?: string }): readonly string[] => [
    ...(names.ca === undefined ? [] : ['--etcd-cafile', path(`${names.ca}.crt`)]),
    ...(names.pair === undefined
      ? []
      : ['--etcd-certfile', path(`${names.pair}.crt`), '--etcd-keyfile', path(`${names.pair}.key`)]),
  ];
  const wrong: readonly (readonly [name: string, flags: () => readonly string[], reason: RegExp])[] = [
    ['an authority that etcd does not have', () => flagsOf({ ca: 'other', pair: 'client' }), /certificate/],
    ['no authority', () => flagsOf({ pair: 'client' }), /certificate/],
    ['no client certificate', () => flagsOf({ ca: 'ca' }), /certificate|alert|closed|reset|dropped/i],
    [
      'a client certificate of a stranger',
      () => flagsOf({ ca: 'ca', pair: 'stranger' }),
      /certificate|alert|closed|reset|dropped/i,
    ],
  ];
  for (const [name, flags, reason] of wrong) {
    test(`rejects ${name}`, async () => {
      const { code, line } = await refused('--etcd-servers', secureUrl, ...flags());
      assert.ok(line.startsWith(`fairlead: cannot use etcd ${secureUrl}: `), line);
      assert.match(line, reason);
      assert.equal(code, 1);
    });
  }

  test('rejects a member whose certificate has another address', async () => {
    await using link = await Link.open(secureUrl, '127.0.0.2');
    const endpoint = link.url.replace('http:', 'https:');
    const { code, line } = await refused('--etcd-servers', endpoint, ...flagsOf({ ca: 'ca', pair: 'client' }));
    assert.match(line, /IP: 127\.0\.0\.2 is not in the cert's list: 127\.0\.0\.1/);
    assert.equal(code, 1);
  });

  test('starts with the right certificates', async () => {
    await using directory = await temporaryDirectory();
    const flags = ['--store', 'etcd', '--etcd-servers', secureUrl, ...flagsOf({ ca: 'ca', pair: 'client' })];
    await using server = await startFairlead(directory.path, ['server', ...flags]);
    assert.match(server.process.out, /ready in/);
  });

  test('rejects a certificate file that does not exist, as a mistake on the command line', async () => {
    const { code, line } = await refused('--etcd-servers', secureUrl, '--etcd-cafile', path('none.crt'));
    assert.match(line, /^fairlead: --etcd-cafile .*none.crt: no such file or directory/);
    assert.equal(code, 2);
  });

  test('starts with a user of etcd that has no rights outside its prefix, and names what a compaction needs', async () => {
    const [direct, withTls] = [`http://127.0.0.1:${await freePort()}`, `https://127.0.0.1:${await freePort()}`];
    const listen = ['--listen-client-urls', `${direct},${withTls}`];
    await using _etcd = await startEtcd({ flags: [...tlsFlags(), ...listen], isDurable: false });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    await callEtcd(direct, 'auth/role/add', { name: 'root' });
    await callEtcd(direct, 'auth/role/add', { name: 'prefix' });
    const perm = { permType: 'READWRITE', key: base64('/registry/'), range_end: base64('/registry0') };
    await callEtcd(direct, 'auth/role/grant', { name: 'prefix', perm });
    for (const [name, role] of Object.entries({ root: 'root', fairlead: 'prefix' })) {
      await callEtcd(direct, 'auth/user/add', { name, options: { no_password: true } });
      await callEtcd(direct, 'auth/user/grant', { user: name, role });
    }
    await callEtcd(direct, 'auth/enable');
    await using directory = await temporaryDirectory();
    const flags = ['--etcd-servers', withTls, ...flagsOf({ ca: 'ca', pair: 'client' })];
    const compacting = ['--etcd-compaction-interval', '1s'];
    await using server = await startFairlead(directory.path, ['server', '--store', 'etcd', ...flags, ...compacting]);
    await until('the rejected compaction is logged', () => server.process.err.includes('the key compact_rev_key'));
    const elsewhere = await refused(...flags, '--etcd-prefix', '/other');
    assert.match(elsewhere.line, /etcd rejects the credentials of this server: etcdserver: permission denied/);
  });

  test('rejects files without a certificate, and a key of another certificate, as mistakes on the command line', async () => {
    const mixed = ['--etcd-certfile', path('client.crt'), '--etcd-keyfile', path('stranger.key')];
    const answers = [
      await refused('--etcd-servers', secureUrl, '--etcd-cafile', path('ca.key')),
      await refused('--etcd-servers', secureUrl, ...flagsOf({ ca: 'ca' }), ...mixed),
    ];
    assert.deepEqual(answers, [
      { code: 2, line: `fairlead: --etcd-cafile ${path('ca.key')}: it has no certificate: expected PEM` },
      {
        code: 2,
        line: `fairlead: --etcd-keyfile ${path('stranger.key')}: it is not the key of --etcd-certfile ${path('client.crt')}`,
      },
    ]);
  });

  const revisionOf = async (): Promise<unknown> => {
    const { header } = await callEtcd(url, 'kv/range', { key: Buffer.from('/').toString('base64') });
    return (header as { readonly revision: string }).revision;
  };
  const put = (key: string, value: string): Promise<unknown> =>
    callEtcd(url, 'kv/put', { key: Buffer.from(key).toString('base64'), value: Buffer.from(value).toString('base64') });

  test('writes nothing under a prefix with keys of another program', async () => {
    await put('/foreign/services/specs/default/web', '{}');
    const before = await revisionOf();
    const { code, line } = await refused('--etcd-servers', url, '--etcd-prefix', '/foreign');
    assert.match(
      line,
      /the etcd prefix \/foreign has keys of another program, such as \/foreign\/services\/specs\/default\/web: pass/,
    );
    assert.equal(code, 1);
    assert.equal(await revisionOf(), before);
  });

  test('writes nothing under a prefix of a newer release', async () => {
    await put('/newer/fairlead/owner', '{"format":2}');
    const before = await revisionOf();
    const { code, line } = await refused('--etcd-servers', url, '--etcd-prefix', '/newer');
    assert.match(
      line,
      /the etcd prefix \/newer was written by a newer release \(format 2\): use that release or a newer/,
    );
    assert.equal(code, 1);
    assert.equal(await revisionOf(), before);
  });

  test('writes nothing under a prefix whose owner is not readable', async () => {
    await put('/unreadable/fairlead/owner', 'v2');
    const before = await revisionOf();
    const { code, line } = await refused('--etcd-servers', url, '--etcd-prefix', '/unreadable');
    assert.match(line, /the owner of the etcd prefix \/unreadable is not readable/);
    assert.equal(code, 1);
    assert.equal(await revisionOf(), before);
  });

  test('writes nothing under the prefix of another cluster', async () => {
    await using directory = await temporaryDirectory();
    const shared = ['--etcd-servers', url, '--etcd-prefix', '/taken'];
    const owner = await startFairlead(directory.path, ['server', '--store', 'etcd', ...shared]);
    await owner.stop();
    const before = await revisionOf();
    const renamed = await refused(...shared, '--cluster', 'west');
    assert.match(
      renamed.line,
      /the etcd prefix \/taken belongs to cluster "fairlead", not "west": pass another --etcd-prefix/,
    );
    const unrelated = await refused(...shared);
    assert.match(
      unrelated.line,
      /belongs to a cluster "fairlead" with another certificate authority: copy the folder pki from/,
    );
    assert.deepEqual([renamed.code, unrelated.code], [1, 1]);
    assert.equal(await revisionOf(), before);
    await using again = await startFairlead(directory.path, ['server', '--store', 'etcd', ...shared]);
    assert.match(again.process.out, /ready in/);
    // A second server with other flags, which would allocate from another range.
    await using second = await temporaryDirectory();
    await cp(join(directory.path, 'pki'), join(second.path, 'pki'), { recursive: true });
    const flags = ['--data-dir', second.path, '--secure-port', '0', '--service-cluster-ip-range', '10.9.0.0/16'];
    await using other = new FairleadProcess(['server', '--store', 'etcd', ...shared, ...flags]);
    assert.equal(await other.ended(), 1);
    assert.match(
      other.err,
      /the cluster has the service range 10\.0\.0\.0\/24: pass --service-cluster-ip-range 10\.0\.0/,
    );
  });

  test('gives each cluster of `up` a prefix of its own', async () => {
    await using directory = await temporaryDirectory();
    const clusters = ['--cluster', 'east', '--cluster', 'west', '--parts', 'server'];
    await using up = await startFairlead(directory.path, ['up', '--store', 'etcd', '--etcd', url, ...clusters]);
    assert.match(up.process.out, /ready in/);
    for (const name of ['east', 'west']) {
      const key = Buffer.from(`/fairlead/${name}/fairlead/owner`).toString('base64');
      const { kvs } = await callEtcd(url, 'kv/range', { key });
      const [kv] = kvs as readonly { readonly value: string }[];
      assert.match(Buffer.from(kv?.value ?? '', 'base64').toString(), new RegExp(`"cluster":"${name}"`));
    }
  });
});
