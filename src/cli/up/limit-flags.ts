import { auditLevels } from '../../server/audit/options.ts';
import type { AuditOptions } from '../../server/audit/options.ts';
import type { LimitOptions } from '../../server/limits/options.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag } from '../options/flags.ts';
import { countBetween, nonEmpty, oneOf } from '../options/values.ts';

/** The limits of clients and the audit log, named as in kube-apiserver where it has them. */
export const limitFlags: readonly Flag[] = [
  ...grouped('Limits', [
    { name: 'max-requests-inflight', value: 'N', description: 'maximum concurrent reads', default: '400' },
    { name: 'max-mutating-requests-inflight', value: 'N', description: 'maximum concurrent writes', default: '200' },
    { name: 'max-watches', value: 'N', description: 'maximum open watches', default: '10000' },
    { name: 'max-watches-per-user', value: 'N', description: 'maximum open watches of one user', default: '1000' },
    {
      name: 'max-connections-per-address',
      value: 'N',
      description: 'maximum connections from one client address; raise it for clients behind a NAT or a proxy',
      default: '2000',
    },
  ]),
  ...grouped('Audit log', [
    {
      name: 'audit-log-path',
      value: 'FILE',
      description: 'file of the audit log; with several clusters, FILE-NAME for each',
    },
    {
      name: 'audit-log-level',
      value: 'LEVEL',
      description: 'content of the audit log; Request adds bodies',
      choices: auditLevels,
      default: 'Metadata',
    },
    { name: 'audit-log-maxsize', value: 'MB', description: 'rotate the audit log at this size', default: '100' },
    { name: 'audit-log-maxbackup', value: 'N', description: 'rotated audit logs to keep; 0 for all', default: '10' },
    {
      name: 'audit-log-maxage',
      value: 'DAYS',
      description: 'days to keep rotated audit logs; 0 for no limit',
      default: '0',
    },
  ]),
];

/** The limits that were given; the server has defaults for the others. */
export function readLimits(settings: Settings): Partial<LimitOptions> {
  const read = (flag: string): number | undefined =>
    readFlag<number | undefined>(settings, flag, countBetween(1), undefined);
  const given = {
    maxRequestsInflight: read('max-requests-inflight'),
    maxMutatingRequestsInflight: read('max-mutating-requests-inflight'),
    maxWatches: read('max-watches'),
    maxWatchesPerUser: read('max-watches-per-user'),
    maxConnectionsPerAddress: read('max-connections-per-address'),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The audit log; undefined: none. */
export function readAudit(settings: Settings): AuditOptions | undefined {
  const options = {
    path: readFlag<string | undefined>(settings, 'audit-log-path', nonEmpty('a path'), undefined),
    level: readFlag(settings, 'audit-log-level', oneOf(auditLevels), 'Metadata'),
    maxBytes: readFlag(settings, 'audit-log-maxsize', countBetween(1), 100) * 1024 * 1024,
    maxBackups: readFlag(settings, 'audit-log-maxbackup', countBetween(0), 10),
    maxAgeDays: readFlag(settings, 'audit-log-maxage', countBetween(0), 0),
  };
  return options.path === undefined ? undefined : { ...options, path: options.path };
}
