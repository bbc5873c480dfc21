import { extname } from 'node:path';

/** How much of a request is kept: who did what, or also the objects that were sent. */
export const auditLevels = ['Metadata', 'Request'] as const;
export type AuditLevel = (typeof auditLevels)[number];

/** Where and what to write down; `--audit-log-…` of kube-apiserver. */
export interface AuditOptions {
  readonly path: string;
  readonly level: AuditLevel;
  /** A file that has grown past this is put aside. */
  readonly maxBytes: number;
  /** How many files that were put aside are kept, and for how many days; 0: all, for ever. */
  readonly maxBackups: number;
  readonly maxAgeDays: number;
}

/** Where the log of one of several clusters is: `audit.log` is `audit-east.log` for `east`. */
export function auditPathOfCluster(path: string, cluster: string): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${cluster}${extension}`;
}
