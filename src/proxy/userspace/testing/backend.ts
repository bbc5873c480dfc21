import { Registry } from 'prom-client';

import type { NodeNetwork, Route } from '../../routes/route.ts';
import { RoutingTable } from '../../routes/table.ts';
import { UserspaceBackend } from '../backend.ts';
import { network } from './echo.ts';
import { loadLibc } from '../native/libc.ts';
import type { UserspaceOptions } from '../options.ts';

/** A backend and its routing table. */
export class TestBackend implements AsyncDisposable {
  readonly table: RoutingTable;
  readonly backend: UserspaceBackend;
  readonly metrics: Registry;

  private constructor(backend: UserspaceBackend, metrics: Registry, around: NodeNetwork) {
    this.backend = backend;
    this.metrics = metrics;
    this.table = new RoutingTable(around);
  }

  static async open(options: UserspaceOptions, around = network): Promise<TestBackend> {
    const metrics = new Registry();
    const opened = new TestBackend(
      await UserspaceBackend.open({ drainMs: 0, ...options }, { metrics }),
      metrics,
      around,
    );
    await opened.backend.replace(opened.table);
    return opened;
  }

  async set(...routes: readonly Route[]): Promise<void> {
    this.table.set('Service shop/web', routes);
    await this.backend.apply(this.table.takeChange(), this.table);
  }

  /** The texts of all problems, without repetition. */
  get problems(): readonly string[] {
    return [...new Set(this.backend.problems().map(({ text }) => text))];
  }

  async value(line: string): Promise<number> {
    const text = await this.metrics.metrics();
    const found = text.split('\n').find((each) => each.startsWith(`${line} `));
    return Number(found?.split(' ').at(-1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend[Symbol.asyncDispose]();
  }
}

const isNative = (await loadLibc()) !== undefined;

/** The engines: why each is skipped here, and how to open it. */
export const engines = (['native', 'node'] as const).map((engine) => ({
  engine,
  skip: engine === 'native' && !isNative && 'native calls are not available here',
  open: (options: UserspaceOptions = {}, around?: NodeNetwork): Promise<TestBackend> =>
    TestBackend.open({ engine, ...options }, around),
}));
