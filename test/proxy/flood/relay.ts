// A process with listeners, controlled by its parent: routes and counters.
import { Registry } from 'prom-client';

import type { Route } from '../../../src/proxy/routes/route.ts';
import { RoutingTable } from '../../../src/proxy/routes/table.ts';
import { UserspaceBackend } from '../../../src/proxy/userspace/backend.ts';
import { network } from '../../../src/proxy/userspace/testing/echo.ts';
import type { UserspaceOptions } from '../../../src/proxy/userspace/options.ts';

/** A request of the parent; the response has the same number. */
export interface Question {
  readonly id: number;
  /** The routes from now on. */
  readonly routes?: readonly Route[];
}

export interface Answer {
  readonly id: number;
  readonly metrics: string;
  readonly residentBytes: number;
  /** Its log so far. */
  readonly logged: readonly string[];
}

const metrics = new Registry();
const logged: string[] = [];
const record = (...line: readonly unknown[]): void => void logged.push(String(line.at(-1)));
const log = { warn: record, error: record };
const options = JSON.parse(process.argv[2] ?? '{}') as UserspaceOptions; // of the test beside it
const backend = await UserspaceBackend.open({ drainMs: 0, ...options }, { metrics, log });
const table = new RoutingTable(network);
await backend.replace(table);

process.on('message', ({ id, routes }: Question) => void reply(id, routes));
process.once('disconnect', () => process.exit(0));

async function reply(id: number, routes: readonly Route[] | undefined): Promise<void> {
  if (routes !== undefined) {
    table.set('Service shop/web', routes);
    await backend.apply(table.takeChange(), table);
  }
  const residentBytes = process.memoryUsage.rss();
  process.send?.({ id, metrics: await metrics.metrics(), residentBytes, logged } satisfies Answer);
}
