// The names of what a quota can limit.

/** Compute resources of Pods, and what counts against them. */
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

/** Whether Kubernetes defines what is counted under a name that has no domain. */
export const isStandardName = (name: string): boolean => standard.has(name) || isHugePages(name);

const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** Whether Pods request the resource under its own name, as devices of vendors. */
export const isExtendedName = (name: string): boolean => !isNative(name) && !name.startsWith(requestsPrefix);

/** Whether a quota counts requests of an extended resource under the name. */
export const isExtendedQuotaName = (name: string): boolean => !isNative(name) && name.startsWith(requestsPrefix);

export const isIntegerName = (name: string): boolean => counts.includes(name) || isExtendedName(name);

/** The resources that Pods must name in each container once a quota limits them. */
export const requiredInContainers: ReadonlySet<string> = new Set(compute);

/** The resources of Pods that a quota with the scope can limit; undefined: there is no such scope. */
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
