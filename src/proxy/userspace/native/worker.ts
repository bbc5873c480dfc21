// The program of a thread that relays connections.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

import { setImmediate } from '../../../machine/timers.ts';
import { Counters } from '../counters.ts';
import { dialTimeoutsMs } from '../options.ts';
import { Switchboard } from '../switchboard.ts';
import { loadLibc } from './libc.ts';
import type { Order } from './protocol.ts';
import { Relays } from './relays.ts';

const now = (): number => performance.now();

interface Setup {
  readonly counters: Counters;
  readonly switchboard: Switchboard;
  readonly relays: Relays;
}
let running: Setup | undefined;

async function obey(task: Order['task']): Promise<void> {
  if (task.kind === 'setup') {
    const libc = await loadLibc();
    if (libc === undefined) throw new Error('bug: a native thread where native calls cannot be had');
    const counters = new Counters(task.counters);
    const mostAttempts = dialTimeoutsMs.length;
    const switchboard = new Switchboard({ random: Math.random, now, mostPins: task.limits.pins, mostAttempts });
    running = {
      counters,
      switchboard,
      relays: new Relays({ libc, switchboard, counters, limits: task.limits, now }),
    };
    return;
  }
  if (running === undefined) throw new Error(`bug: told to ${task.kind} before it was set up`);
  const { switchboard, relays, counters } = running;
  switch (task.kind) {
    case 'change':
      return switchboard.change(task.change);
    case 'open':
      return relays.open(task.door, task.fd);
    case 'close':
      return relays.close(task.fd);
    case 'stop': {
      const end = now() + task.drainMs;
      while (counters.get('open') > 0 && now() < end) await delay(10);
      relays[Symbol.dispose]();
    }
  }
}

parentPort?.on('message', ({ id, task }: Order) => {
  void obey(task).then(
    () => {
      parentPort?.postMessage(id);
      if (task.kind === 'stop') parentPort?.close();
    },
    // A thread that cannot do what it is told ends, and its owner hears why.
    (error: unknown) =>
      setImmediate(() => {
        throw error;
      }),
  );
});
