// Images that are programs and directories of the machine.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { isReady, podObject, Stand } from './stand.ts';

describe('images', () => {
  let stand: Stand;
  let images: string;
  before(async () => {
    images = await mkdtemp(join(tmpdir(), 'fairlead-images-'));
    await mkdir(join(images, 'web', 'bin'), { recursive: true });
    const script = '#!/bin/sh\necho "$0" "$@" in $PWD; exec sleep 1000\n';
    await writeFile(join(images, 'web', 'bin', 'serve'), script, { mode: 0o755 });
    const map = [`web=${images}/web serve --fast`, `registry.example.org/pause:3=/bin/sleep 1000`];
    stand = await Stand.start(map.flatMap((each) => ['--image-map', each]));
  });
  after(async () => {
    await stand[Symbol.asyncDispose]();
    await rm(images, { recursive: true });
  });

  const logIs = (pod: string, text: string): Promise<unknown> =>
    until(`the log of ${pod}`, async () => (await stand.kubectl('logs', pod)).out === text);

  test('a directory runs its default program, and programs by their paths in it', async () => {
    const container = { name: 'c', image: 'web:2' };
    await stand.create(
      podObject('default', { containers: [container] }),
      podObject('args', { containers: [{ ...container, args: ['--slow'] }] }),
      podObject('command', { containers: [{ ...container, command: ['/bin/serve', 'x'] }] }),
    );
    const path = `${images}/web/bin/serve`;
    await logIs('default', `${path} --fast in ${images}/web\n`);
    await logIs('args', `${path} --slow in ${images}/web\n`);
    await logIs('command', `${path} x in ${images}/web\n`);
  });

  test('a Deployment runs a mapped program, and waits for an image that is not mapped', async () => {
    await stand.must('create', 'deployment', 'quiet', '--image=registry.example.org/pause:3', '--replicas=2');
    await stand.must('patch', 'deployment', 'quiet', '-p', '{"spec":{"template":{"spec":{"nodeName":"machine-1"}}}}');
    await stand.must('rollout', 'status', 'deployment/quiet', '--timeout=30s');
    await stand.must('delete', 'deployment', 'quiet');
    await stand.create(podObject('other', { containers: [{ name: 'c', image: 'registry.example.org/pause:4' }] }));
    const { status } = await stand.podUntil('other', 'waits', (pod) =>
      (pod.status.containerStatuses?.[0]?.state.waiting?.reason ?? '').startsWith('Err'),
    );
    assert.equal(status.phase, 'Pending');
    assert.ok(!isReady({ metadata: { uid: '' }, status }));
  });
});
