import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { finishRotation, readAuthority, trustedCertificates } from './authority.ts';
import { accepts, stoppedAfter, trusts } from './testing/interrupted.ts';
import { issue } from './issue.ts';
import type { Pki } from './pki.ts';
import { ensurePki } from './pki.ts';
import { readCertificates } from './renewal.ts';
import { replaceSharedAuthority } from './shared-authority.ts';
import { writeShared } from './testing/shared-authority.ts';

const now = new Date();

async function folder(): Promise<AsyncDisposable & { readonly path: string; readonly pki: string }> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-shared-'));
  return { path, pki: join(path, 'pki'), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Does what a start of the server does. */
async function start(pki: string, clusters: readonly string[]): Promise<ReadonlyMap<string, Pki>> {
  await replaceSharedAuthority(pki, [], now);
  const made = clusters.map(
    async (cluster) =>
      [cluster, await ensurePki({ directory: join(pki, cluster), cluster, serviceIps: [], now })] as const,
  );
  return new Map(await Promise.all(made));
}

const legacyFiles = async (pki: string): Promise<readonly string[]> =>
  (await readdir(pki, { withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name);

describe('a shared certificate authority', () => {
  test('is replaced by one per cluster; its certificates work until the rotation is finished', async () => {
    await using place = await folder();
    const shared = await writeShared(place.pki, ['east', 'west']);
    const pkis = await start(place.pki, ['east', 'west']);
    const [east, west] = [pkis.get('east'), pkis.get('west')];
    assert.ok(east && west);
    assert.ok(accepts(east.ca, shared.alice) && accepts(west.ca, shared.alice), 'certificates from before');
    for (const { serving, ca } of [east, west]) {
      assert.ok(await trusts(place.path, shared.ca.cert, serving.cert), 'a client that only has the shared authority');
      assert.ok(await trusts(place.path, readCertificates(ca).map(String)[0] ?? '', serving.cert), 'a new client');
    }
    assert.ok(accepts(east.ca, east.admin) && !accepts(west.ca, east.admin), 'a new certificate is for one cluster');
    assert.deepEqual(await legacyFiles(place.pki), [], 'the key of the shared authority is removed');
    assert.deepEqual(
      await start(place.pki, ['east', 'west']),
      new Map([...pkis].map(renewedNothing)),
      'once is enough',
    );

    for (const cluster of ['east', 'west']) await finishRotation(join(place.pki, cluster));
    const finished = (await start(place.pki, ['east', 'west'])).get('east');
    assert.ok(finished);
    assert.ok(!accepts(finished.ca, shared.alice));
    assert.ok(accepts(finished.ca, east.admin));
    assert.ok(!(await trusts(place.path, shared.ca.cert, finished.serving.cert)));
  });

  test('keeps trusting the previous one if it was being rotated', async () => {
    await using place = await folder();
    const { alice, ca, first } = await writeShared(place.pki, ['east', 'west'], { isRotating: true });
    const east = (await start(place.pki, ['east', 'west'])).get('east');
    assert.ok(east);
    assert.ok(accepts(east.ca, alice) && accepts(east.ca, first.alice));
    assert.ok(await trusts(place.path, first.ca.cert, east.serving.cert), 'over two links');
    assert.ok(await trusts(place.path, ca.cert, east.serving.cert));
  });

  test('becomes the authority of its cluster if it served only one', async () => {
    for (const isRotating of [false, true]) {
      await using place = await folder();
      const { alice, ca, first } = await writeShared(place.pki, ['east'], { isRotating });
      const pkis = await start(place.pki, ['east', 'north']);
      const [east, north] = [pkis.get('east'), pkis.get('north')];
      assert.ok(east && north);
      assert.equal(readCertificates(east.ca).map(String)[0]?.trim(), ca.cert.trim());
      assert.ok(accepts(east.ca, alice) && accepts(east.ca, first.alice));
      assert.ok(!accepts(north.ca, alice), 'a cluster that comes later has nothing to do with it');
      assert.deepEqual(await legacyFiles(place.pki), []);
    }
  });

  test('is replaced also for clusters that do not run or lack certificates', async () => {
    await using place = await folder();
    const shared = await writeShared(place.pki, ['east', 'west']);
    await replaceSharedAuthority(place.pki, ['north'], now);
    for (const cluster of ['east', 'west', 'north']) {
      const authority = await readAuthority(join(place.pki, cluster));
      assert.ok(authority && accepts(trustedCertificates(authority), shared.alice), cluster);
    }
  });

  const damages: readonly (readonly [what: string, damage: (pki: string) => Promise<void>, why: RegExp])[] = [
    ['without its key', (pki) => rm(join(pki, 'ca.key')), /ca\.key, .* cannot be used \(missing\): restore them/],
    ['without its certificate', (pki) => rm(join(pki, 'ca.crt')), /cannot be used \(missing\)/],
    ['with a damaged key', (pki) => writeFile(join(pki, 'ca.key'), 'damaged'), /key does not match the certificate/],
    ['with a damaged certificate', (pki) => writeFile(join(pki, 'ca.crt'), 'damaged'), /unreadable certificate/],
  ];
  for (const [what, damage, why] of damages) {
    test(`${what} is an actionable error and changes nothing`, async () => {
      await using place = await folder();
      await writeShared(place.pki, ['east', 'west']);
      await damage(place.pki);
      const before = await readdir(place.pki);
      await assert.rejects(replaceSharedAuthority(place.pki, [], now), why);
      assert.deepEqual(await readdir(place.pki), before);
    });
  }

  test('is removed if it has expired', async () => {
    await using place = await folder();
    await writeShared(place.pki, ['east', 'west'], { now: new Date('2010-01-01') });
    const pkis = await start(place.pki, ['east', 'west']);
    assert.equal(readCertificates(pkis.get('east')?.ca ?? '').length, 1);
    assert.deepEqual(await legacyFiles(place.pki), []);
  });

  for (const clusters of [['east'], ['east', 'west']]) {
    test(`of ${clusters.length} is replaced although starts are interrupted at every step`, async () => {
      await using place = await folder();
      const shared = await writeShared(place.pki, clusters);
      const untouched = join(place.path, 'untouched');
      await cp(place.pki, untouched, { recursive: true });
      let steps = 0;
      for (let isDone = false; !isDone; steps++) {
        const pki = join(place.path, `pki-${steps}`);
        await cp(untouched, pki, { recursive: true });
        isDone = await stoppedAfter(steps, () => replaceSharedAuthority(pki, [], now));
        await stoppedAfter(steps / 2, () => replaceSharedAuthority(pki, [], now));
        const pkis = await start(pki, clusters);
        for (const [name, { ca, serving, admin }] of pkis) {
          assert.ok(accepts(ca, shared.alice), `${name} after ${steps} steps`);
          assert.ok(await trusts(place.path, shared.ca.cert, serving.cert), `${name} after ${steps} steps`);
          const others = [...pkis].filter(([other]) => other !== name);
          assert.ok(others.every(([, other]) => !accepts(other.ca, admin)));
        }
        assert.deepEqual(await legacyFiles(pki), []);
      }
      assert.ok(steps > 10, `${steps} steps`);
    });
  }
});

test('a certificate of one cluster is not valid for another, also with cross certificates', async () => {
  await using place = await folder();
  await writeShared(place.pki, ['east', 'west']);
  await start(place.pki, ['east', 'west']);
  const [east, west] = [await readAuthority(join(place.pki, 'east')), await readAuthority(join(place.pki, 'west'))];
  assert.ok(east && west);
  const eve = await issue(
    east.pair,
    { use: 'client', commonName: 'eve', groups: ['system:masters'] },
    { now, days: 1 },
  );
  assert.ok(accepts(trustedCertificates(east), eve));
  assert.ok(!accepts(trustedCertificates(west), eve));
});

const renewedNothing = ([name, pki]: readonly [string, Pki]): readonly [string, Pki] => [
  name,
  { ...pki, renewed: new Map() },
];
