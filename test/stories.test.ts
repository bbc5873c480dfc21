// Runs the stories: what is in their console blocks is typed, and what they say must be printed.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { temporaryDirectory } from './harness/fairlead.ts';
import { findKubectls, isSince } from './harness/kubectl.ts';
import { Session } from './harness/session.ts';
import type { Story } from './harness/transcript.ts';
import { fill, parseStories, printResult } from './harness/transcript.ts';

const folder = join(import.meta.dirname, 'stories');

for (const kubectl of await findKubectls()) {
  for (const file of globSync('*.md', { cwd: folder }).toSorted()) {
    describe(`${basename(file, '.md')} with kubectl ${kubectl.version}`, () => {
      const stack = new AsyncDisposableStack();
      let session: Session;
      before(async () => {
        const { path } = stack.use(await temporaryDirectory());
        session = stack.use(new Session(path, kubectl.path));
        await session.start(['server']);
      });
      after(() => stack.disposeAsync());

      for (const [index, story] of parseStories(readFileSync(join(folder, file), 'utf8')).entries()) {
        const isTooOld = !isSince(kubectl.version, story.since);
        test(story.name, { skip: isTooOld && `kubectl ${kubectl.version} is older than ${story.since}` }, async () => {
          const namespace = `${basename(file, '.md')}-${index + 1}`;
          await session.kubectl(['create', 'namespace', namespace]);
          await session.use(namespace);
          await play(session, story);
        });
      }
    });
  }
}

async function play(session: Session, { steps }: Story): Promise<void> {
  for (const step of steps) {
    const printed = printResult(await session.run(step));
    assert.equal(printed, fill(step.expected, printed), `$ ${step.text}`);
  }
}
