import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { followMembers, readMembers } from './follow-members.ts';

test('members follow their file, and stay as they were while it is wrong or away', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-members-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'members.yaml');
  await writeFile(path, 'members: [{ id: east }]');
  const told: string[] = [];
  const stop = new AbortController();
  const options = { path, first: await readMembers(path), log: pino({ level: 'silent' }), everyMs: 5 };
  const following = followMembers(options, (entries) => told.push(entries.map(({ id }) => id).join()), stop.signal);
  const until = async (count: number): Promise<void> => {
    for (let tries = 0; told.length < count && tries < 500; tries++) await delay(5);
  };
  await writeFile(path, 'members: [');
  await delay(30);
  await rm(path);
  await delay(30);
  assert.deepEqual(told, ['east']);
  await writeFile(path, 'members: [{ id: east }, { id: west }]');
  await until(2);
  await writeFile(path, 'members: [{ id: east }, { id: west }] # the same');
  await delay(30);
  assert.deepEqual(told, ['east', 'east,west']);
  stop.abort();
  await following;
});

test('a file that is not there is an error when the command begins', async () => {
  await assert.rejects(readMembers('/nowhere/members.yaml'), /cannot read --members \/nowhere\/members.yaml: ENOENT/);
});
