import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, readFlag } from '../options/flags.ts';
import { nonEmpty, parseBoolean, parseDuration } from '../options/values.ts';

/** The Lease of a leader election, and its times. */
export interface Election {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** The flags of leader election, named as in kube-controller-manager. */
export const leaderFlags = (lease: string): readonly Flag[] =>
  grouped('Leader election', [
    {
      name: 'leader-elect',
      ...booleanFlag,
      description: 'elect a leader among the replicas; only the leader acts',
      default: 'true',
    },
    {
      name: 'leader-elect-lease-duration',
      value: 'DURATION',
      description: 'how long non-leaders wait after the last renewal before they take over',
      default: '15s',
    },
    {
      name: 'leader-elect-renew-deadline',
      value: 'DURATION',
      description: 'how long a leader retries a renewal before it gives up; shorter than the lease duration',
      default: '10s',
    },
    {
      name: 'leader-elect-retry-period',
      value: 'DURATION',
      description: 'time between two attempts to acquire or renew',
      default: '2s',
    },
    { name: 'leader-elect-resource-name', value: 'NAME', description: 'name of the Lease', default: lease },
    {
      name: 'leader-elect-resource-namespace',
      value: 'NAMESPACE',
      description: 'namespace of the Lease',
      default: 'kube-system',
    },
  ]);

/** Reads the flags; undefined: no election, the part acts at once. */
export function readElection(settings: Settings, lease: string): Election | undefined {
  if (!readFlag(settings, 'leader-elect', parseBoolean, true)) return undefined;
  const ms = (name: string, fallback: number): number =>
    readFlag(settings, `leader-elect-${name}`, parseDuration, fallback);
  const text = (name: string, fallback: string): string =>
    readFlag(settings, `leader-elect-resource-${name}`, nonEmpty('a name'), fallback);
  const election = {
    namespace: text('namespace', 'kube-system'),
    name: text('name', lease),
    leaseDurationMs: ms('lease-duration', 15_000),
    renewDeadlineMs: ms('renew-deadline', 10_000),
    retryPeriodMs: ms('retry-period', 2000),
  };
  checkTimes(election);
  return election;
}

/** With jitter, two reads of a Lease are up to this many retry periods apart. */
const longestRetry = 2.2;

/**
 * The longest time from the last renewal of a leader that crashed until another leads: it saw that renewal one retry late,
 * waits for the lease duration, and needs one more retry.
 */
export const longestTakeoverMs = ({ leaseDurationMs, retryPeriodMs }: Election): number =>
  leaseDurationMs + 2 * longestRetry * retryPeriodMs;

/** With other times two replicas could lead at once, or none for long. */
function checkTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: Election): void {
  if (retryPeriodMs <= 0) throw new UsageError('--leader-elect-retry-period must be greater than zero');
  if (leaseDurationMs <= renewDeadlineMs)
    throw new UsageError('--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline');
  if (renewDeadlineMs <= 1.2 * retryPeriodMs)
    throw new UsageError('--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period');
  // A Lease holds whole seconds.
  if (leaseDurationMs % 1000 !== 0) throw new UsageError('--leader-elect-lease-duration must be whole seconds');
}
