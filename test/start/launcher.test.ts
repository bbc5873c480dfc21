import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { root } from '../harness/process.ts';

/** Makes the launcher detect a Node that is too old for the source. */
const olderNode = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });`,
)}`;

test('the server stops when the launcher of an older Node is killed', async () => {
  await using data = await temporaryDirectory();
  const flags = ['up', '--cluster', 'east', '--data-dir', data.path, '--port-base', '0'];
  const launcher = spawn(process.execPath, ['--import', olderNode, join(root, 'bin', 'fairlead.js'), ...flags], {
    stdio: 'ignore',
  });
  const ended = once(launcher, 'exit');
  const readState = (): Promise<string> => readFile(join(data.path, 'state.json'), 'utf8').catch(() => '');
  await until('the server is ready', async () => (await readState()) !== '', 90_000);
  const { pid } = JSON.parse(await readState()) as { pid: number };
  assert.notEqual(pid, launcher.pid, 'the server is a process of its own');
  launcher.kill('SIGKILL');
  await ended;
  await until('the server has stopped gracefully', async () => (await readState()) === '', 60_000);
});

test('npm does not warn on the oldest Node that the launcher accepts', async () => {
  const lock: unknown = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const { packages } = lock as {
    readonly packages: Readonly<
      Record<string, { readonly dev?: boolean; readonly engines?: { readonly node?: string } }>
    >;
  };
  assert.equal(packages['']?.engines?.node, '>=20.19.0');
  const tooNew = Object.entries(packages).filter(([, { dev = false, engines }]) => {
    const oldest = (engines?.node ?? '*').split('||').map((range) => /(\d+)(?:\.(\d+))?/.exec(range));
    return !dev && oldest.every((version) => Number(version?.[1] ?? 0) * 100 + Number(version?.[2] ?? 0) > 2019);
  });
  assert.deepEqual(tooNew, []);
});
