// The effect of the bodies of test/hostile on others: the longest turn of the event loop in processor time, which is how long every
// other request waits on a quiet machine, and the measured waits of a second user with and without them.

import { Bystander } from '../test/hostile/bystander.ts';
import type { HostileCase } from '../test/hostile/case.ts';
import { bodies } from '../test/hostile/cases/bodies.ts';
import { HostileServer } from '../test/hostile/client.ts';
import { openStage } from '../test/hostile/stage.ts';
import type { Stage } from '../test/hostile/stage.ts';
import { longestTurn } from './hostile/longest-turn.ts';
import type { Running } from './process.ts';
import { median } from './quantile.ts';
import { table } from './table.ts';

const idleMs = 500;
const attackMs = 1500;

/** A table with one row per body. */
export async function measureHostileBodies(running: Running, progress: (text: string) => void): Promise<string> {
  const { host, port, token } = running.target;
  await using stage = await openStage({ url: `https://${host}:${port}`, insecure: true, token });
  await using bystander = new Bystander({ target: stage.bystander, namespace: stage.namespace });
  const measured: { name: string; codes: string; turn: number; idle: number; p99: number }[] = [];
  await sleep(2 * idleMs);
  for (const hostile of bodies) {
    progress(hostile.name);
    await bystander.period();
    await sleep(idleMs);
    const { p99: idle } = await bystander.period();
    const codes = await attack(hostile, stage);
    const { p99 } = await bystander.period();
    await stage.clear();
    measured.push({ name: hostile.name, codes, turn: await longestTurn(hostile), idle, p99 });
  }
  const idle = median(measured.map((row) => row.idle));
  return table(
    ['', 'answer', 'longest turn, ms CPU (at most 100)', `p99 of a second user (idle ${idle.toFixed(1)} ms)`, 'ratio'],
    measured.map(({ name, codes, turn, p99 }) => [
      name,
      codes,
      turn.toFixed(0),
      `${p99.toFixed(1)} ms`,
      `${(p99 / idle).toFixed(1)}×`,
    ]),
  );
}

/** Sends the body repeatedly; resolves with the status codes. */
async function attack(hostile: HostileCase, stage: Stage): Promise<string> {
  using server = new HostileServer(stage.attacker);
  const place = { server, namespace: stage.namespace };
  for (const request of hostile.prepare?.(place) ?? []) await server.send(request);
  const codes = new Set<number>();
  const end = performance.now() + attackMs;
  while (performance.now() < end) {
    for (const { status } of await hostile.attack(place, AbortSignal.timeout(60_000))) codes.add(status);
  }
  return [...codes].join(' ');
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
