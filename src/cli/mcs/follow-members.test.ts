import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { settleMs } from '../process/stable-file.ts';
import { followMembers, readMembers } from './follow-members.ts';

test('reloads the members, and keeps them while the file is invalid or missing', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-members-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'members.yaml');
  const put = async (text: string): Promise<void> => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  await put('members: [{ id: east }]');
  const reported: string[] = [];
  const stream = new PassThrough({ encoding: 'utf8' });
  let logged = '';
  stream.on('data', (text: string) => (logged += text));
  const logs = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(logged)) await once(stream, 'data');
  };
  const stop = new AbortController();
  const options = { path, first: await readMembers(path), log: pino(stream), everyMs: 5 };
  const following = followMembers(options, (entries) => reported.push(entries.map(({ id }) => id).join()), stop.signal);
  await put('members: [');
  await logs(/"reason":"[^"]*members\.yaml:\d/);
  await rm(path);
  await logs(/"reason":".*no such file or directory"/);
  assert.deepEqual(reported, ['east']);
  await put('members: [{ id: east }, { id: west }]');
  await logs(/members reloaded/);
  await put('members: [{ id: east }, { id: west }] # the same');
  await delay(4 * settleMs); // nothing must happen
  assert.deepEqual(reported, ['east', 'east,west']);
  stop.abort();
  await following;
});

test('rejects a missing file at the start', async () => {
  await assert.rejects(
    readMembers('/nowhere/members.yaml'),
    /cannot read --members \/nowhere\/members.yaml: no such file or directory/,
  );
});
