import type { Container, PodSpec, Pod } from './schema.ts';
import {
  hugePagesPrefix,
  isExtendedName,
  isExtendedQuotaName,
  requestsPrefix,
  requiredInContainers,
} from '../resourcequota/names.ts';
import type { Quantity } from '../../../quantity.ts';
import { addQuantities, largerQuantity, parseQuantity, wholeQuantity, zero } from '../../../quantity.ts';
import type { Amounts, QuotaEvaluator, QuotaScope } from '../../../quota.ts';
import { getOrCompute } from '../../../maps.ts';

const computed = ['cpu', 'memory', 'ephemeral-storage'] as const;

const names: ReadonlySet<string> = new Set([
  'count/pods',
  'pods',
  ...computed.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);

const one = wholeQuantity(1);

/** Counts every Pod under `count/pods`, and Pods that have not terminated under `pods` and compute resources. */
export const podQuota: QuotaEvaluator<Pod> = {
  counts: (name) =>
    names.has(name) ||
    name.startsWith(hugePagesPrefix) ||
    name.startsWith(requestsPrefix + hugePagesPrefix) ||
    isExtendedQuotaName(name),
  usage({ spec, status }) {
    const counted: [string, Quantity][] = [['count/pods', one]];
    if (status.phase === 'Failed' || status.phase === 'Succeeded') return new Map(counted);
    const { requests, limits } = podAmounts(spec);
    return new Map([...counted, ['pods', one], ...computeNames(requests, limits)]);
  },
  isInScope,
  missing({ spec }, limited) {
    const lacking = new Map<string, string[]>();
    for (const { name: container, resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
      const given = new Map(computeNames(amounts(resources.requests), amounts(resources.limits)));
      for (const name of limited) {
        if (!requiredInContainers.has(name) || given.has(name)) continue;
        getOrCompute(lacking, name, () => []).push(container);
      }
    }
    if (lacking.size === 0) return undefined;
    const texts = Array.from(
      lacking,
      ([name, containers]) => `${name} for: ${[...new Set(containers)].sort().join(',')}`,
    );
    return `must specify ${texts.sort().join('; ')}`;
  },
};

/** Requests and limits under the names of quotas. */
function computeNames(requests: Amounts, limits: Amounts): readonly (readonly [string, Quantity])[] {
  return [
    ...computed.flatMap((name) => {
      const [request, limit] = [requests.get(name), limits.get(name)];
      return [
        ...(request === undefined
          ? []
          : ([
              [name, request],
              [`requests.${name}`, request],
            ] as const)),
        ...(limit === undefined ? [] : ([[`limits.${name}`, limit]] as const)),
      ];
    }),
    ...Array.from(requests).flatMap(([name, request]) => {
      const isHuge = name.startsWith(hugePagesPrefix);
      return [
        ...(isHuge ? ([[name, request]] as const) : []),
        ...(isHuge || isExtendedName(name) ? ([[requestsPrefix + name, request]] as const) : []),
      ];
    }),
  ];
}

/** What the containers of a Pod request or may use together, or more while it starts; or what the Pod sets for them. */
export function podTotals(spec: PodSpec, of: 'requests' | 'limits'): Map<string, Quantity> {
  const sum = new Map(containerAmounts(spec, of));
  for (const [name, amount] of amounts(spec.resources?.[of])) if (isOfPod(name)) sum.set(name, amount);
  return sum;
}

/** What a Pod as a whole requests and may use, with its overhead. */
function podAmounts(spec: PodSpec): { readonly requests: Amounts; readonly limits: Amounts } {
  const overhead = amounts(spec.overhead);
  const [requests, limits] = [podTotals(spec, 'requests'), podTotals(spec, 'limits')];
  for (const [name, amount] of overhead) {
    requests.set(name, addQuantities(requests.get(name) ?? zero, amount));
    const limit = limits.get(name);
    if (limit !== undefined && limit.nano !== 0n) limits.set(name, addQuantities(limit, amount));
  }
  return { requests, limits };
}

/** Whether a Pod can set the resource for all its containers together. */
const isOfPod = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith(hugePagesPrefix);

/** The maximum of the sum of containers and, for each init container, its sum with earlier sidecars (KEP-753). */
function containerAmounts({ containers, initContainers }: Pod['spec'], of: 'requests' | 'limits'): Amounts {
  const own = ({ resources }: Container): Amounts => amounts(resources[of]);
  let running: Amounts = (containers ?? []).map(own).reduce(sum, new Map());
  let sidecars: Amounts = new Map();
  let starting: Amounts = new Map();
  for (const container of initContainers ?? []) {
    const beside = sum(sidecars, own(container));
    if (container.restartPolicy === 'Always') {
      running = sum(running, own(container));
      sidecars = beside;
    }
    starting = combine(starting, beside, largerQuantity);
  }
  return combine(running, starting, largerQuantity);
}

/** Resources with their parsed amounts. */
export const amounts = (given: Readonly<Record<string, string | number>> = {}): Amounts =>
  new Map(Object.entries(given).map(([name, amount]) => [name, parseQuantity(String(amount))]));

const sum = (a: Amounts, b: Amounts): Amounts => combine(a, b, addQuantities);

function combine(a: Amounts, b: Amounts, join: (a: Quantity, b: Quantity) => Quantity): Amounts {
  const all = new Map(a);
  for (const [name, amount] of b) {
    const other = all.get(name);
    all.set(name, other === undefined ? amount : join(other, amount));
  }
  return all;
}

/** Whether a Pod is in a scope. */
function isInScope({ spec }: Pod, { scopeName, operator, values = [] }: QuotaScope): boolean {
  switch (scopeName) {
    case 'Terminating':
      return (spec.activeDeadlineSeconds ?? -1) >= 0;
    case 'NotTerminating':
      return (spec.activeDeadlineSeconds ?? -1) < 0;
    case 'BestEffort':
      return qosClass(spec) === 'BestEffort';
    case 'NotBestEffort':
      return qosClass(spec) !== 'BestEffort';
    case 'PriorityClass':
      return meets(spec.priorityClassName || undefined, operator, values);
    case 'CrossNamespacePodAffinity':
      return namesNamespaces(spec);
    default:
      return false;
  }
}

function meets(value: string | undefined, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

function namesNamespaces({ affinity }: Pod['spec']): boolean {
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const counted = ['cpu', 'memory'] as const;

/** The QoS class of a Pod, from its requests and limits. */
export function qosClass(spec: PodSpec): QosClass {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  if (containers.every(isBestEffort)) return 'BestEffort';
  return containers.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

const isBestEffort = ({ resources: { limits = {}, requests = {} } }: Container): boolean =>
  counted.every((name) => limits[name] === undefined && requests[name] === undefined);

// Equal quantities in different notations (1 and 1000m) are not recognised as equal.
const isGuaranteed = ({ resources: { limits = {}, requests = {} } }: Container): boolean =>
  counted.every((name) => limits[name] !== undefined && `${limits[name]}` === `${requests[name] ?? limits[name]}`);
