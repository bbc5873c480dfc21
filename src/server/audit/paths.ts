import { extname } from 'node:path';

/** Where the log of one of several clusters is: `audit.log` is `audit-east.log` for `east`. */
export function pathForCluster(path: string, cluster: string): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${cluster}${extension}`;
}
