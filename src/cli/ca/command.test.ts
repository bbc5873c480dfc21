import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { addKey } from '../../server/access/identity/key-directory.ts';
import { ensurePki } from '../../server/pki/pki.ts';
import { isSignedBy, readCertificates } from '../../server/pki/renewal.ts';
import { run } from '../run.ts';
import { kubeconfig } from '../up/kubeconfig.ts';

interface Kubeconfig {
  readonly 'current-context': string;
  readonly clusters: readonly { readonly name: string; readonly cluster: Readonly<Record<string, string>> }[];
  readonly contexts: readonly { readonly name: string }[];
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
}

/** A data directory as a server writes it. */
describe('fairlead user and fairlead ca', () => {
  let root = '';
  let dataDir = '';
  const start = async (): Promise<void> => {
    const names = ['east', 'west'];
    const clusters = await Promise.all(
      names.map(async (name, index) => {
        const directory = join(dataDir, 'pki', name);
        const { ca, admin } = await ensurePki({ directory, cluster: name, serviceIps: [], now: new Date() });
        return { name, server: `https://127.0.0.1:${6443 + index}`, ca, pair: admin };
      }),
    );
    await writeFile(join(dataDir, 'kubeconfig'), kubeconfig({ clusters, user: 'admin' }));
    for (const name of names) await addKey(join(dataDir, 'token-keys', name), Date.now());
  };
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'fairlead-access-'));
    dataDir = join(root, 'data');
    await start();
  });
  after(() => rm(root, { recursive: true, force: true }));

  const fairlead = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const printed = { out: '', err: '' };
    const code = await run([...args, '--data-dir', dataDir], {
      out: (text) => (printed.out += text),
      err: (text) => (printed.err += text),
    });
    return { code, ...printed };
  };
  const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
  const certificateOf = (text: string): X509Certificate =>
    new X509Certificate(decoded((JSON.parse(text) as Kubeconfig).users[0]?.user['client-certificate-data']));

  test('user add writes a kubeconfig that only its owner can read', async () => {
    const file = join(root, 'alice.kubeconfig');
    const { code, out, err } = await fairlead('user', 'add', 'alice', '--group', 'a', '--group', 'b', '-o', file);
    assert.equal(code, 0, err);
    assert.equal(out, '');
    assert.match(err, /alice\.kubeconfig: user "alice", valid until \d{4}-\d\d-\d\d\n$/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const config = JSON.parse(await readFile(file, 'utf8')) as Kubeconfig;
    assert.equal(config['current-context'], 'east');
    assert.deepEqual(
      config.clusters.map(({ name, cluster }) => [name, cluster['server']]),
      [
        ['east', 'https://127.0.0.1:6443'],
        ['west', 'https://127.0.0.1:6444'],
      ],
    );
    for (const [index, name] of ['east', 'west'].entries()) {
      const ca = await readFile(join(dataDir, 'pki', name, 'ca.crt'), 'utf8');
      assert.equal(decoded(config.clusters[index]?.cluster['certificate-authority-data']), ca);
      const user = config.users[index];
      assert.equal(user?.name, `alice@${name}`);
      const cert = new X509Certificate(decoded(user.user['client-certificate-data']));
      assert.equal(cert.subject, 'O=a\nO=b\nCN=alice');
      assert.ok(isSignedBy(cert, new X509Certificate(ca)));
      assert.ok(decoded(user.user['client-key-data']).includes('PRIVATE KEY'));
    }
    const files = await readdir(join(dataDir, 'pki'), { recursive: true });
    assert.equal(files.filter((name) => name.includes('alice')).length, 0);
  });

  test('user add --part writes a kubeconfig for a part, with the name that its role is bound to', async () => {
    const file = join(root, 'controllers.kubeconfig');
    const { code, err } = await fairlead('user', 'add', 'controllers', '--part', '-o', file);
    assert.equal(code, 0, err);
    assert.match(err, /controllers\.kubeconfig: user "system:fairlead:controllers", valid until /);
    assert.equal(certificateOf(await readFile(file, 'utf8')).subject, 'CN=system:fairlead:controllers');
    const refused = await fairlead('user', 'add', 'server', '--part');
    assert.match(refused.err, /^fairlead: unknown component "server": expected controllers, dns, /);
    const grouped = await fairlead('user', 'add', 'dns', '--part', '--group', 'system:masters');
    assert.match(grouped.err, /--group cannot be combined with --part/);
    assert.deepEqual([refused.code, grouped.code], [2, 2]);
  });

  test('user add writes the requested clusters and validity', async () => {
    const { out } = await fairlead('user', 'add', 'bob', '--cluster', 'west', '--expires', '2h', '-o', '-');
    const config = JSON.parse(out) as Kubeconfig;
    assert.deepEqual(
      config.contexts.map(({ name }) => name),
      ['west'],
    );
    assert.equal(config['current-context'], 'west');
    const left = certificateOf(out).validToDate.getTime() - Date.now();
    assert.ok(left > 7_100_000 && left < 7_201_000, String(left));
  });

  const mistakes: readonly (readonly [args: string, code: number, want: RegExp])[] = [
    ['user', 2, /missing action of user: expected add/],
    ['user add', 2, /missing NAME: expected `fairlead user add NAME`$/],
    ['user remove alice', 2, /unknown action "remove" of user: expected add: see/],
    ['user add system:admin', 2, /user "system:admin": names that begin with "system:" are reserved$/],
    ['user add alice --expires soon', 2, /invalid argument "soon" for "--expires" flag: time: invalid duration "soon"/],
    ['user add alice --expires 99999d', 2, /--expires is after the end of the certificate authority/],
    ['user add alice --cluster north', 2, /no cluster "north" in this data directory: there are east, west$/],
    ['user add alice -o /nowhere/at/all', 1, /cannot write \/nowhere\/at\/all: no such file or directory/],
    ['ca renew', 2, /unknown action "renew" of ca: expected rotate/],
    ['ca --finish', 2, /--finish is a flag of `fairlead ca rotate`, not of `fairlead ca`$/],
    ['ca rotate --finish --tokens', 2, /--finish cannot be combined with --tokens$/],
    ['ca rotate --finish', 1, /no rotation is in progress: start one with `fairlead ca rotate`$/],
  ];
  for (const [args, code, want] of mistakes) {
    test(`fairlead ${args}` + ': one line with the fix', async () => {
      const { err, ...answer } = await fairlead(...args.split(' '));
      assert.equal(answer.code, code, err);
      assert.match(err.trimEnd(), want);
    });
  }

  test('user add warns that system:masters cannot be revoked', async () => {
    const { err } = await fairlead('user', 'add', 'eve', '--group', 'system:masters', '-o', '-');
    assert.match(err, /^warning: system:masters has every right, and it cannot be revoked until .* rotated\n$/);
  });

  test('user add does not overwrite a file', async () => {
    const file = join(root, 'taken');
    await writeFile(file, 'mine');
    const { code, err } = await fairlead('user', 'add', 'carl', '-o', file);
    assert.equal(code, 1);
    assert.match(err, /the file exists: remove it or pass -o FILE/);
    assert.equal(await readFile(file, 'utf8'), 'mine');
  });

  test('names a data directory without certificates', async () => {
    const printed: string[] = [];
    const code = await run(['ca', '--data-dir', root], {
      out: () => undefined,
      err: (text) => void printed.push(text),
    });
    assert.equal(code, 1);
    assert.match(printed.join(''), /has no certificates: start a server with this data directory first/);
  });

  test('ca lists all certificates and keys with their expiry', async () => {
    const { out } = await fairlead('ca');
    const [heading = '', first = '', ...rows] = out.trimEnd().split('\n');
    assert.match(heading, /^NAME +SUBJECT +EXPIRES +NOTE$/);
    assert.match(first, /^east\/ca +CN=fairlead-ca-east +\d{4}-\d\d-\d\d +signs, trusted, 36\d\d days left$/);
    assert.deepEqual(
      rows.map((row) => row.split(' ')[0]),
      [
        'east/admin',
        'east/apiserver-kubelet-client',
        'east/apiserver',
        'east/front-proxy-ca',
        'east/front-proxy-client',
        'west/ca',
        'west/admin',
        'west/apiserver-kubelet-client',
        'west/apiserver',
        'west/front-proxy-ca',
        'west/front-proxy-client',
        'east/tokens',
        'west/tokens',
      ],
    );
    const listed = JSON.parse((await fairlead('ca', '-o', 'json')).out) as { name: string }[];
    assert.equal(listed.length, 14);
  });

  test('ca names the authority of the aggregation layer and what it issued', async () => {
    const notes = async (): Promise<ReadonlyMap<string, string>> => {
      const { out } = await fairlead('ca', '-o', 'json');
      const rows = JSON.parse(out) as { name: string; note: string }[];
      return new Map(rows.map(({ name, note }) => [name, note.replace(/\d+ days left/, 'N days left')]));
    };
    const before = await notes();
    assert.equal(before.get('east/front-proxy-ca'), 'authority of the aggregation layer, N days left');
    assert.equal(before.get('east/front-proxy-client'), 'issued by front-proxy-ca, N days left');
    assert.deepEqual(
      [...before.values()].filter((note) => note.includes('another authority')),
      [],
    );

    const [east, west] = ['east', 'west'].map((cluster) => join(dataDir, 'pki', cluster, 'front-proxy-client.crt'));
    assert.ok(east !== undefined && west !== undefined);
    const own = await readFile(east, 'utf8');
    await writeFile(east, await readFile(west, 'utf8'));
    assert.equal((await notes()).get('east/front-proxy-client'), 'issued by another authority, N days left');
    await writeFile(east, own);
  });

  test('ca rotate --tokens adds a key and keeps the previous one', async () => {
    const { out } = await fairlead('ca', 'rotate', '--tokens');
    assert.match(out, /^east: tokens are signed with .{43}; .*\nwest: /);
    assert.equal((await readdir(join(dataDir, 'token-keys', 'east'))).length, 2);
  });

  test('ca rotate, then --finish once servers have new certificates', async () => {
    const before = new X509Certificate(await readFile(join(dataDir, 'pki', 'east', 'ca.crt')));
    const begun = await fairlead('ca', 'rotate');
    assert.equal(begun.code, 0, begun.err);
    assert.match(begun.out, /no server is running: the next start issues new certificates/);

    const again = await fairlead('ca', 'rotate');
    assert.match(again.err, /a rotation is in progress: end it with `fairlead ca rotate --finish` first/);
    const early = await fairlead('ca', 'rotate', '--finish');
    assert.match(
      early.err,
      /east\/admin, east\/apiserver, west\/admin, west\/apiserver still signed by the previous certificate authority: start the server/,
    );

    await start();
    const { out } = await fairlead('user', 'add', 'dora', '-o', '-');
    const config = JSON.parse(out) as Kubeconfig;
    const trust = readCertificates(decoded(config.clusters[0]?.cluster['certificate-authority-data']));
    assert.equal(trust.length, 2);
    assert.ok(!isSignedBy(certificateOf(out), before));
    assert.match((await fairlead('ca')).out, /east\/ca-previous +CN=fairlead-ca-east +\S+ +still trusted/);

    assert.match(
      (await fairlead('ca', 'rotate', '--finish')).out,
      /the previous certificate authority is no longer trusted/,
    );
    assert.doesNotMatch((await fairlead('ca')).out, /previous/);
  });
});
