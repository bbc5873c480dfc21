import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { freePort } from '../../src/server/testing/free-port.ts';
import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess } from '../harness/process.ts';

test('up serves without a part that cannot start, reports it, and starts it when it can', async () => {
  await using data = await temporaryDirectory();
  const base = (await freePort()) - 100;
  const holder = createSocket('udp4').bind(base + 100, '127.0.0.1');
  await once(holder, 'listening');
  const flags = ['--cluster', 'east', '--parts', 'server,controllers,dns', '--port-base', `${base}`];
  await using fairlead = new FairleadProcess(['up', '--data-dir', data.path, ...flags]);
  await fairlead.ready();
  assert.match(fairlead.out, /dns of east is not ready: the component failed and is restarted: DNS port .* is in use/);
  const problems = async (): Promise<Record<string, readonly string[]>> => {
    const [cluster] = JSON.parse(
      await readFile(join(data.path, 'state.json'), 'utf8').catch(() => '{"clusters":[{}]}'),
    ).clusters;
    return Object.fromEntries(
      (cluster.parts ?? []).map((part: { name: string; problems: readonly string[] }) => [part.name, part.problems]),
    );
  };
  await until('the other parts are ready', async () => (await problems())['controllers']?.length === 0);
  holder.close();
  await until('DNS is ready', async () => (await problems())['dns']?.length === 0);
  await fairlead.stop();
});
