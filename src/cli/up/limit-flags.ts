import { auditLevels } from '../../server/audit/options.ts';
import type { AuditOptions } from '../../server/audit/options.ts';
import type { LimitOptions } from '../../server/limits/options.ts';
import { UsageError } from '../errors.ts';
import { oneOf, readFlag } from '../options/flags.ts';
import type { Flag, Settings } from '../settings.ts';

/** What clients may take and what is written down of them, in kube-apiserver's words where it has them. */
export const limitFlags: readonly Flag[] = [
  { name: 'max-requests-inflight', value: 'N', description: 'reads under way at once', default: '400' },
  { name: 'max-mutating-requests-inflight', value: 'N', description: 'writes under way at once', default: '200' },
  { name: 'max-watches', value: 'N', description: 'watches open at once', default: '10000' },
  { name: 'max-watches-per-user', value: 'N', description: 'watches of one user', default: '1000' },
  {
    name: 'max-connections-per-address',
    value: 'N',
    description: 'maximum connections from one client address; raise it for clients behind a NAT or a proxy',
    default: '2000',
  },
  {
    name: 'audit-log-path',
    value: 'FILE',
    description: 'write down who did what; with several clusters, FILE-NAME for each',
  },
  { name: 'audit-log-level', value: 'LEVEL', description: 'Metadata, or Request for bodies too', default: 'Metadata' },
  { name: 'audit-log-maxsize', value: 'MB', description: 'begin a new audit log after this', default: '100' },
  { name: 'audit-log-maxbackup', value: 'N', description: 'old audit logs to keep; 0: all', default: '10' },
  { name: 'audit-log-maxage', value: 'DAYS', description: 'how long to keep them; 0: for ever', default: '0' },
];

/** Limits that were given; the server has defaults for the others. */
export function readLimits(settings: Settings): Partial<LimitOptions> {
  const read = (flag: string): number | undefined =>
    readFlag<number | undefined>(settings, flag, countFrom(1), undefined);
  const given = {
    maxRequestsInflight: read('max-requests-inflight'),
    maxMutatingRequestsInflight: read('max-mutating-requests-inflight'),
    maxWatches: read('max-watches'),
    maxWatchesPerUser: read('max-watches-per-user'),
    maxConnectionsPerAddress: read('max-connections-per-address'),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Where to write down who did what; undefined: nowhere. */
export function readAudit(settings: Settings): AuditOptions | undefined {
  const options = {
    path: readFlag<string | undefined>(settings, 'audit-log-path', path, undefined),
    level: readFlag(settings, 'audit-log-level', oneOf(auditLevels), 'Metadata'),
    maxBytes: readFlag(settings, 'audit-log-maxsize', countFrom(1), 100) * 1024 * 1024,
    maxBackups: readFlag(settings, 'audit-log-maxbackup', countFrom(0), 10),
    maxAgeDays: readFlag(settings, 'audit-log-maxage', countFrom(0), 0),
  };
  return options.path === undefined ? undefined : { ...options, path: options.path };
}

/** Reads a whole number that is not below `least`. */
export const countFrom =
  (least: number) =>
  (text: string): number => {
    const count = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= least) return count;
    throw new UsageError(`expected a whole number, ${least} or more`);
  };

function path(text: string): string {
  if (text === '') throw new UsageError('expected a path');
  return text;
}
