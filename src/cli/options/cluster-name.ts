import { UsageError } from '../errors.ts';

/** Reads a cluster's name: a DNS label, since it becomes part of DNS names, contexts and directories. */
export function parseClusterName(text: string): string {
  if (text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)) return text;
  throw new UsageError('a cluster name is up to 63 lower-case letters, digits and "-", as in "east"');
}

/** Splits `VALUE@NAME`, where the name picks one cluster; without it the value is for all of them. */
export function splitTarget(text: string, clusters: readonly string[]): { value: string; cluster: string | undefined } {
  const at = text.lastIndexOf('@');
  if (at === -1) return { value: text, cluster: undefined };
  const cluster = text.slice(at + 1);
  if (!clusters.includes(cluster)) {
    throw new UsageError(`there is no cluster "${cluster}" after the "@": the clusters are ${clusters.join(', ')}`);
  }
  return { value: text.slice(0, at), cluster };
}
