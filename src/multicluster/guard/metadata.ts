// Drops exported labels and annotations with reserved keys.
import type { ClusterExport } from '../record.ts';
import type { Dropped } from './policy.ts';

/** Domains whose keys controllers act on, including their subdomains. */
const reservedDomains: readonly string[] = [
  'kubernetes.io',
  'k8s.io',
  'x-k8s.io',
  'fairlead.dev',
  // Load balancers and their addresses.
  'amazonaws.com',
  'azure.com',
  'cilium.io',
  'cloud.google.com',
  'gke.io',
  'kube-vip.io',
  'metallb.io',
  'metallb.universe.tf',
  'openelb.io',
  'purelb.io',
];

/** Whether the key of a label or annotation is in a reserved domain. */
export function isReservedKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash === -1) return false;
  const domain = key.slice(0, slash).toLowerCase();
  // Cilium uses its reversed domain.
  if (domain === 'io.cilium' || domain.startsWith('io.cilium.')) return true;
  return reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
}

/** The record without reserved keys in its exported labels and annotations, and the dropped keys. */
export function withoutReservedKeys(record: ClusterExport): {
  readonly record: ClusterExport;
  readonly dropped: readonly Dropped[];
} {
  const { serviceExport } = record;
  const { exportedLabels, exportedAnnotations } = serviceExport?.spec ?? {};
  const reserved = [
    ...reservedIn(exportedLabels).map((key) => ({ key, what: 'label' as const })),
    ...reservedIn(exportedAnnotations).map((key) => ({ key, what: 'annotation' as const })),
  ];
  if (serviceExport === undefined || reserved.length === 0) return { record, dropped: [] };
  const spec = {
    ...(exportedLabels && { exportedLabels: withoutReserved(exportedLabels) }),
    ...(exportedAnnotations && { exportedAnnotations: withoutReserved(exportedAnnotations) }),
  };
  const { cluster, namespace, name } = record;
  return {
    record: { ...record, serviceExport: { ...serviceExport, spec } },
    dropped: reserved.map(({ key, what }) => ({
      cluster,
      namespace,
      name,
      what,
      message: `exported ${what} ${key} is reserved: set it on the imports that need it`,
    })),
  };
}

const reservedIn = (map: Readonly<Record<string, string>> = {}): readonly string[] =>
  Object.keys(map).filter(isReservedKey).toSorted();

const withoutReserved = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !isReservedKey(key)));
