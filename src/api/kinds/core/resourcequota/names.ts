// The resource names in quotas.

/** The names for compute resources of Pods. */
const compute = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'] as const;

const storage = ['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage', 'requests.storage'];

const counts = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];

const standard: ReadonlySet<string> = new Set([...compute, ...storage, ...counts]);

export const hugePagesPrefix = 'hugepages-';
export const requestsPrefix = 'requests.';

const isHugePages = (name: string): boolean =>
  name.startsWith(hugePagesPrefix) || name.startsWith(requestsPrefix + hugePagesPrefix);

/** Whether a name without a domain is valid in a quota. */
export const isStandardName = (name: string): boolean => standard.has(name) || isHugePages(name);

/** Whether the name is in a domain of Kubernetes; names without a domain are. */
export const isNativeName = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** Whether the name is that of an extended resource, such as a device of a vendor. */
export const isExtendedName = (name: string): boolean => !isNativeName(name) && !name.startsWith(requestsPrefix);

/** Whether the name is `requests.` followed by an extended resource. */
export const isExtendedQuotaName = (name: string): boolean => !isNativeName(name) && name.startsWith(requestsPrefix);

export const isIntegerName = (name: string): boolean => counts.includes(name) || isExtendedName(name);

/** The resources that each container must specify if a quota limits them. */
export const requiredInContainers: ReadonlySet<string> = new Set(compute);

/** The resources that a quota with the scope can limit; undefined if the scope is unknown. */
export function resourcesInScope(scope: string): ReadonlySet<string> | undefined {
  if (scope === 'BestEffort') return new Set(['pods']);
  return podScopes.has(scope) ? new Set(['pods', ...compute]) : undefined;
}

const podScopes = new Set([
  'Terminating',
  'NotTerminating',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
]);
