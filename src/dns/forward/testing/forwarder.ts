// A forwarder over fake upstreams, in the time of a manual or of the system clock.
import type { Clock } from '../../../client/clock.ts';
import { systemClock } from '../../../client/clock.ts';
import { ManualClock } from '../../../client/testing/clocks.ts';
import { types } from '../../../dnswire/codes.ts';
import type { ForwarderOptions } from '../forwarder.ts';
import { Forwarder } from '../forwarder.ts';
import type { Behaviour } from './fake-upstream.ts';
import { FakeUpstream } from './fake-upstream.ts';
import type { ResolveOptions, UpstreamAnswer } from '../../resolver.ts';

/** The system clock with an adjustable offset. */
class SkippingClock implements Clock {
  #skipped = 0;
  now = (): number => Date.now() + this.#skipped;
  elapsed = (): number => performance.now() + this.#skipped;
  after = (ms: number, run: () => void): (() => void) => systemClock.after(ms, run);
  resumedAt = (): number => 0;
  skip(ms: number): void {
    this.#skipped += ms;
  }
}

interface Given {
  readonly servers: readonly FakeUpstream[];
  readonly forwarder: Forwarder;
  readonly resolve: (name: string, more?: Partial<ResolveOptions>) => Promise<UpstreamAnswer>;
}

const inTimeOf =
  <C extends NonNullable<ForwarderOptions['clock']>>(makeClock: () => C) =>
  (
    behaviours: readonly Behaviour[],
    options: Partial<ForwarderOptions>,
    run: (given: Given & { readonly clock: C }) => Promise<void>,
  ): Promise<void> => {
    const clock = makeClock();
    return withClock(behaviours, { ...options, clock }, (given) => run({ ...given, clock }));
  };

/** Runs a test with a manual clock, so that a busy machine causes no repeated queries. */
export const withForwarder = inTimeOf(() => new ManualClock());

/** Runs a test with the system clock. */
export const inRealTime = inTimeOf(() => new SkippingClock());

async function withClock(
  behaviours: readonly Behaviour[],
  options: Partial<ForwarderOptions>,
  run: (given: Given) => Promise<void>,
): Promise<void> {
  const servers = await Promise.all(behaviours.map((behaviour) => FakeUpstream.start(behaviour)));
  const upstreams = servers.map(({ endpoint }) => endpoint);
  const forwarder = new Forwarder({ upstreams, ...options });
  const resolve: Given['resolve'] = (name, more) =>
    forwarder.resolve({ name, type: types.A, class: 1 }, { dnssecOk: false, checkingDisabled: false, ...more });
  try {
    await run({ servers, forwarder, resolve });
  } finally {
    await forwarder.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

/** The address in the last record of an answer. */
export const addressOf = (answer: UpstreamAnswer): string | undefined => answer.answers.at(-1)?.data.join('.');
/** The options of a query from a client. */
export const client = (address: string): Partial<ResolveOptions> => ({
  client: { address, port: 4000, protocol: 'udp' },
});
