// Why a member that answers cannot be read, for /readyz, `fairlead mcs` and the conditions of exports.
import type { MemberCaches } from './caches.ts';

/** Installs the CRDs in a cluster. */
export const installDefinitions = (context?: string): string =>
  `kubectl ${context === undefined ? '' : `--context ${context} `}apply -f examples/multicluster/definitions.yaml`;

/** A member, as far as its reason depends on it. */
interface Unreadable {
  readonly id: string;
  readonly caches: Pick<MemberCaches, 'excess' | 'lacksKinds'>;
}

/** Why a member cannot be read until someone changes it, as a sentence; undefined: it can. */
export function unreadableReason({ id, caches }: Unreadable): string | undefined {
  if (caches.excess !== undefined)
    return `cluster ${id} is not read: ${caches.excess.message}; raise the limit if the cluster is this large`;
  if (!caches.lacksKinds) return undefined;
  return `cluster ${id} serves neither kind of ServiceExport: install the CRDs there with \`${installDefinitions()}\``;
}
