// Labels and annotations that an export may not give to the imports of others: T8.
import type { ExportRecord } from '../record.ts';
import type { Dropped } from './policy.ts';

/** Domains whose keys mean something to controllers; with all that is below them. */
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

/** Whether a key of a label or an annotation is somebody's whom an export may not speak for. */
export function isReservedKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash === -1) return false;
  const domain = key.slice(0, slash).toLowerCase();
  // Cilium writes its own domain backwards.
  if (domain === 'io.cilium' || domain.startsWith('io.cilium.')) return true;
  return reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
}

/** The record with what its export may give to imports, and what was dropped. */
export function withoutReservedKeys(record: ExportRecord): {
  readonly record: ExportRecord;
  readonly dropped: readonly Dropped[];
} {
  const { currentExport } = record;
  const { exportedLabels, exportedAnnotations } = currentExport?.spec ?? {};
  const reserved = [
    ...reservedIn(exportedLabels).map((key) => ({ key, what: 'label' as const })),
    ...reservedIn(exportedAnnotations).map((key) => ({ key, what: 'annotation' as const })),
  ];
  if (currentExport === undefined || reserved.length === 0) return { record, dropped: [] };
  const spec = {
    ...(exportedLabels && { exportedLabels: withoutReserved(exportedLabels) }),
    ...(exportedAnnotations && { exportedAnnotations: withoutReserved(exportedAnnotations) }),
  };
  const { cluster, namespace, name } = record;
  return {
    record: { ...record, currentExport: { ...currentExport, spec } },
    dropped: reserved.map(({ key, what }) => ({
      cluster,
      namespace,
      name,
      what,
      message: `exported ${what} ${key} is reserved: give it to the imports where it is meant`,
    })),
  };
}

const reservedIn = (map: Readonly<Record<string, string>> = {}): readonly string[] =>
  Object.keys(map).filter(isReservedKey).toSorted();

const withoutReserved = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !isReservedKey(key)));
