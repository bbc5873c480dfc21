import { UsageError } from '../errors.ts';
import { readFlag } from '../options/flags.ts';
import type { Flag, Settings } from '../settings.ts';
import { parseBoolean } from './boolean.ts';
import { parseGoDuration } from './duration.ts';

/** How one of several replicas is chosen. */
export interface Election {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** The flags of leader election, as kube-controller-manager has them. */
export const leaderFlags = (lease: string): readonly Flag[] => [
  {
    name: 'leader-elect',
    value: 'BOOL',
    bare: 'true',
    description: 'of several replicas let one act, chosen by a Lease',
    default: 'true',
  },
  {
    name: 'leader-elect-lease-duration',
    value: 'DURATION',
    description: 'how long others wait after the last sign of life of who leads',
    default: '15s',
  },
  {
    name: 'leader-elect-renew-deadline',
    value: 'DURATION',
    description: 'how long one leads while no sign of life gets through; shorter than the lease lasts',
    default: '10s',
  },
  { name: 'leader-elect-retry-period', value: 'DURATION', description: 'between two signs of life', default: '2s' },
  { name: 'leader-elect-resource-name', value: 'NAME', description: 'name of the Lease', default: lease },
  {
    name: 'leader-elect-resource-namespace',
    value: 'NAMESPACE',
    description: 'namespace of the Lease',
    default: 'kube-system',
  },
];

/** What the flags say; undefined: the part is the only one, and acts at once. */
export function readElection(settings: Settings, lease: string): Election | undefined {
  if (!readFlag(settings, 'leader-elect', parseBoolean, true)) return undefined;
  const ms = (name: string, fallback: number): number =>
    readFlag(settings, `leader-elect-${name}`, parseGoDuration, fallback);
  const text = (name: string, fallback: string): string =>
    readFlag(settings, `leader-elect-resource-${name}`, nonEmpty, fallback);
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

/** Between two looks at a lease lie up to this many retry periods. */
const longestRetry = 2.2;

/**
 * How long after the last renewal of a leader that crashed another leads at the latest: it saw that renewal a retry late,
 * waits for as long as the lease lasts, and tries once more.
 */
export const longestTakeoverMs = ({ leaseDurationMs, retryPeriodMs }: Election): number =>
  leaseDurationMs + 2 * longestRetry * retryPeriodMs;

/** Otherwise two could lead at once, or nobody for long. */
function checkTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: Election): void {
  if (retryPeriodMs <= 0) throw new UsageError('--leader-elect-retry-period must be more than nothing');
  if (leaseDurationMs <= renewDeadlineMs)
    throw new UsageError('--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline');
  if (renewDeadlineMs <= 1.2 * retryPeriodMs)
    throw new UsageError('--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period');
  // A Lease counts whole seconds.
  if (leaseDurationMs % 1000 !== 0) throw new UsageError('--leader-elect-lease-duration must be whole seconds');
}

function nonEmpty(text: string): string {
  if (text === '') throw new UsageError('expected a name');
  return text;
}
