// The program of a relay thread.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

import { setImmediate } from '../../../machine/timers.ts';
import { Counters } from '../counters.ts';
import { dialTimeoutsMs } from '../options.ts';
import { Balancer } from '../balancer.ts';
import { loadLibc } from './libc.ts';
import type { ThreadRequest } from './protocol.ts';
import { Relays } from './relays.ts';

const now = (): number => performance.now();

interface Setup {
  readonly counters: Counters;
  readonly balancer: Balancer;
  readonly relays: Relays;
}
let running: Setup | undefined;

async function handle(task: ThreadRequest['task']): Promise<void> {
  if (task.kind === 'setup') {
    const libc = await loadLibc();
    if (libc === undefined) throw new Error('bug: a relay thread on a platform without native calls');
    const counters = new Counters(task.counters);
    const maxAttempts = dialTimeoutsMs.length;
    const balancer = new Balancer({
      random: Math.random,
      now,
      maxAffinityEntries: task.limits.affinityEntries,
      maxAttempts,
    });
    running = {
      counters,
      balancer,
      relays: new Relays({ libc, balancer, counters, limits: task.limits, now }),
    };
    return;
  }
  if (running === undefined) throw new Error(`bug: request ${task.kind} before setup`);
  const { balancer, relays, counters } = running;
  switch (task.kind) {
    case 'change':
      return balancer.change(task.change);
    case 'open':
      return relays.open(task.listener, task.fd);
    case 'close':
      return relays.close(task.fd);
    case 'stop': {
      const end = now() + task.drainMs;
      while (counters.get('open') > 0 && now() < end) await delay(10);
      relays[Symbol.dispose]();
    }
  }
}

parentPort?.on('message', ({ id, task }: ThreadRequest) => {
  void handle(task).then(
    () => {
      parentPort?.postMessage(id);
      if (task.kind === 'stop') parentPort?.close();
    },
    // A failed request ends the thread; the owner receives the error.
    (error: unknown) =>
      setImmediate(() => {
        throw error;
      }),
  );
});
