// Which labels a node may set on its own Node object. Labels attract Pods, so others are for administrators.

const allowed: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
]);

type Labels = Readonly<Record<string, string>>;

/** The labels that differ and that a node may not set, sorted. */
export function forbiddenLabels(next: Labels = {}, old: Labels = {}): readonly string[] {
  const keys = new Set([...Object.keys(next), ...Object.keys(old)]);
  return [...keys].filter((key) => next[key] !== old[key] && isForbidden(key)).sort();
}

function isForbidden(key: string): boolean {
  const [prefix] = key.includes('/') ? key.split('/') : [''];
  const isIn = (domain: string): boolean => prefix === domain || prefix?.endsWith(`.${domain}`) === true;
  if (isIn('node-restriction.kubernetes.io')) return true;
  if (!isIn('kubernetes.io') && !isIn('k8s.io')) return false;
  return !allowed.has(key) && !isIn('kubelet.kubernetes.io') && !isIn('node.kubernetes.io');
}
