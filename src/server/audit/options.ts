import { extname } from 'node:path';

/** `Metadata` logs who did what, `Request` also the objects in requests. */
export const auditLevels = ['Metadata', 'Request'] as const;
export type AuditLevel = (typeof auditLevels)[number];

/** The flags `--audit-log-…` of kube-apiserver. */
export interface AuditOptions {
  readonly path: string;
  readonly level: AuditLevel;
  /** The log is rotated when it exceeds this size. */
  readonly maxBytes: number;
  /** The number of rotated files to keep, and their maximum age; 0: no limit. */
  readonly maxBackups: number;
  readonly maxAgeDays: number;
}

/** The log of one of several clusters: `audit.log` is `audit-east.log` for `east`. */
export function auditPathOfCluster(path: string, cluster: string): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${cluster}${extension}`;
}
