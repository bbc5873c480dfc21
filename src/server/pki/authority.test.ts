import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { accepts as serverAccepts, stoppedAfter, trusts } from './testing/interrupted.ts';
import { finishRotation, readAuthority, rotateAuthority, trustedCertificates } from './authority.ts';
import { issue } from './issue.ts';
import { partUser } from '../access/identity/users.ts';
import { ensurePki } from './pki.ts';
import { readCertificates } from './renewal.ts';

const day = 86_400_000;

describe('rotation of the authority', () => {
  let directory = '';
  const now = new Date();
  const ensure = (at = now): ReturnType<typeof ensurePki> =>
    ensurePki({ directory, cluster: 'east', serviceIps: [], parts: ['dns'], now: at });
  const accepts = (trust: string, chain: string): Promise<boolean> => trusts(join(directory, '..'), trust, chain);

  before(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'fairlead-authority-')), 'pki');
  });
  after(() => rm(join(directory, '..'), { recursive: true, force: true }));

  test('clients and servers with old and new certificates trust each other until it is finished', async () => {
    const before = await ensure();
    const oldCa = before.ca;
    const oldKeys = await readAuthority(directory);
    assert.ok(oldKeys);
    const oldUser = await issue(oldKeys.pair, { use: 'client', commonName: 'alice', groups: [] }, { now, days: 1 });
    await rotateAuthority(directory, { cluster: 'east', old: oldKeys, now });

    const during = await ensure();
    assert.deepEqual(
      new Set(during.renewed.keys()),
      new Set(['admin', 'apiserver', 'apiserver-kubelet-client', 'part-dns']),
    );
    const serving = during.serving.cert;
    const [newCa = ''] = readCertificates(during.ca).map(String);
    assert.equal(readCertificates(during.ca).length, 2);
    assert.equal(await accepts(oldCa, serving), true, 'a client that trusts only the old authority');
    assert.equal(await accepts(newCa, serving), true, 'a client that trusts only the new one');
    assert.equal(await accepts(during.ca, oldUser.cert), true, 'a server sees an old certificate');
    assert.equal(await accepts(during.ca, during.admin.cert), true);
    assert.equal(await accepts(newCa, oldUser.cert), false);
    assert.deepEqual([...(await ensure()).renewed], [], 'a second start changes nothing');
    const users = await Promise.all(
      (await readdir(directory)).map(async (name) => ({
        name,
        mode: (await stat(join(directory, name))).mode & 0o777,
      })),
    );
    assert.deepEqual(
      users.filter(({ mode }) => mode !== 0o600),
      [],
    );

    await finishRotation(directory);
    const afterwards = await ensure();
    assert.deepEqual([...afterwards.renewed], []);
    assert.equal(readCertificates(afterwards.ca).length, 1);
    assert.equal(afterwards.ca.trim(), newCa.trim());
    assert.equal(await accepts(afterwards.ca, oldUser.cert), false);
    assert.equal(await accepts(oldCa, afterwards.serving.cert), false);
  });

  test('a start rotates an authority near expiry without disconnecting clients', async () => {
    const old = (await ensure()).ca;
    const later = new Date(now.getTime() + 2800 * day);
    const { ca, renewed } = await ensure(later);
    assert.equal(renewed.get('ca'), 'near expiry');
    assert.equal(readCertificates(ca).length, 2);
    assert.ok(ca.includes(old.trim()));
    await finishRotation(directory);
  });

  test('an interruption at any step disconnects no client, and the rotation can be repeated', async () => {
    const untouched = join(directory, '..', 'untouched');
    const before = await ensurePki({ directory: untouched, cluster: 'east', serviceIps: [], now });
    const rotate = async (path: string): Promise<void> => {
      const old = await readAuthority(path);
      assert.ok(old);
      if (old.rotation === undefined) await rotateAuthority(path, { cluster: 'east', old, now });
    };
    let steps = 0;
    for (let isDone = false; !isDone; steps++) {
      const path = join(directory, '..', `interrupted-${steps}`);
      await cp(untouched, path, { recursive: true });
      isDone = await stoppedAfter(steps, () => rotate(path));
      for (const work of [async () => undefined, () => rotate(path)]) {
        await work();
        const { ca, admin, serving } = await ensurePki({ directory: path, cluster: 'east', serviceIps: [], now });
        assert.ok(serverAccepts(ca, before.admin), `a certificate from before, after ${steps} steps`);
        assert.ok(serverAccepts(ca, admin));
        assert.ok(await accepts(before.ca, serving.cert), `a client from before, after ${steps} steps`);
      }
      assert.ok((await readAuthority(path))?.rotation);
      const files = await readdir(path);
      assert.ok(!files.includes('ca-next.crt'), 'nothing is left to complete');
    }
    assert.ok(steps > 8, `${steps} steps`);
  });

  test('rejects a key that does not match the certificate instead of creating a new authority', async () => {
    const path = join(directory, '..', 'unfit');
    const other = join(directory, '..', 'other');
    for (const each of [path, other]) await ensurePki({ directory: each, cluster: 'east', serviceIps: [], now });
    await cp(join(other, 'ca.key'), join(path, 'ca.key'));
    await assert.rejects(
      ensurePki({ directory: path, cluster: 'east', serviceIps: [], now }),
      /ca\.crt and ca\.key cannot be used \(key does not match the certificate\): restore them from a backup, or remove/,
    );
  });

  test('ignores a cross certificate of another authority', async () => {
    await ensure();
    const authority = await readAuthority(directory);
    assert.ok(authority);
    const other = new X509Certificate(authority.pair.cert).toString();
    await writeFile(join(directory, 'ca-previous.crt'), other);
    await writeFile(join(directory, 'ca-cross.crt'), 'damaged');
    const read = await readAuthority(directory);
    assert.ok(read);
    assert.equal(read.rotation, undefined);
    assert.equal(trustedCertificates(read), await readFile(join(directory, 'ca.crt'), 'utf8'));
    await finishRotation(directory);
  });

  test('each part has its own identity without groups', async () => {
    const { parts } = await ensure();
    const part = new X509Certificate(parts.get('dns')?.cert ?? '');
    assert.equal(part.subject, `CN=${partUser('dns')}`);
    assert.equal(partUser('dns'), 'system:fairlead:dns');
    assert.deepEqual(part.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  });
});
