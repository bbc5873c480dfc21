// Runs the stories: executes their console blocks and compares the output.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { temporaryDirectory } from './harness/fairlead.ts';
import { findKubectls, isSince } from './harness/kubectl.ts';
import { unlessInstalled } from './harness/needs.ts';
import { Session } from './harness/session.ts';
import type { Story } from './harness/transcript.ts';
import { fill, parseCommand, parseStories, printResult } from './harness/transcript.ts';

/** The deadline of steps that are repeated. */
const soonMs = 60_000;

const folder = join(import.meta.dirname, 'stories');

for (const kubectl of await findKubectls()) {
  for (const file of globSync('*.md', { cwd: folder }).toSorted()) {
    const markdown = readFileSync(join(folder, file), 'utf8');
    const skip = unlessInstalled(...(/^\$…? dig /m.test(markdown) ? ['dig'] : []));
    describe(`${basename(file, '.md')} with kubectl ${kubectl.version}`, { skip }, () => {
      const stack = new AsyncDisposableStack();
      let session: Session;
      before(async () => {
        const { path } = stack.use(await temporaryDirectory());
        session = stack.use(new Session(path, kubectl.path));
        await session.start(parseCommand(markdown));
      });
      after(() => stack.disposeAsync());

      for (const [index, story] of parseStories(markdown).entries()) {
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
    for (const end = performance.now() + (step.isEventual ? soonMs : 0); ; await delay(50)) {
      const printed = printResult(await session.run(step));
      const expected = fill(step.expected, printed);
      if (printed !== expected && performance.now() < end) continue;
      assert.equal(printed, expected, `$ ${step.text}`);
      break;
    }
  }
}
