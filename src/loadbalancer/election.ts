import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import type { Clock } from '../client/clock.ts';
import { LeaderElection } from '../client/leader.ts';
import type { PartContext } from '../client/part.ts';
import type { ServiceControllerMetrics } from './controller/metrics.ts';

/** Times as in client-go. */
export interface LeaderOptions {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

interface ElectedOptions extends LeaderOptions, Pick<PartContext, 'client' | 'log'> {
  readonly clock: Clock;
  readonly metrics: ServiceControllerMetrics;
  /** Somebody leads. */
  readonly onLeader: () => void;
}

/** Acts in the terms in which this process holds the lease, until the signal fires. */
export async function elected(
  act: (term: AbortSignal) => Promise<void>,
  options: ElectedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, log, metrics } = options;
  const leads = (isUs: 0 | 1): void => metrics.leads.set({ name }, isUs);
  leads(0);
  const election = new LeaderElection({
    ...options,
    lease: { namespace, name },
    identity: `${hostname()}_${randomUUID()}`,
    onError: (error) => log.debug({ err: error }, 'the lease could not be read or written, will try again'),
  });
  await election.run(async (term) => {
    leads(1);
    await act(term).finally(() => leads(0));
  }, signal);
}
