// The admission plugin LimitRanger.
import { forbidden } from '../../api/errors.ts';
import { limitRangeKind } from '../../api/kinds/core/limitrange/kind.ts';
import type { LimitRange, LimitRangeItem } from '../../api/kinds/core/limitrange/schema.ts';
import type { PersistentVolumeClaim } from '../../api/kinds/core/pod/claim.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { amounts, podTotals } from '../../api/kinds/core/pod/quota.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Quantity } from '../../api/quantity.ts';
import { parseQuantity, printQuantity } from '../../api/quantity.ts';
import type { Amounts } from '../../api/quota.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';

/** States on a Pod which requests and limits were set. */
const annotation = 'kubernetes.io/limit-ranger';

/** Gives the containers of a new Pod the default requests and limits of the LimitRanges of its namespace. */
export function withDefaultLimits(watchCache: WatchCache, pod: Pod): Pod {
  return rangesIn(watchCache, pod.metadata.namespace ?? '').reduce(withLimitsOf, pod);
}

function withLimitsOf(pod: Pod, range: LimitRange): Pod {
  const ofContainers = limitsIn(range).filter(({ type }) => type === 'Container');
  const requests: Limits = Object.assign(
    {},
    ...ofContainers.map(({ defaultRequest = {} }) => defaultRequest),
  ) as Limits;
  const limits: Limits = Object.assign({}, ...ofContainers.map((each) => each.default ?? {})) as Limits;
  const texts: string[] = [];
  const complete = (containers: readonly Container[] | null, role: string): readonly Container[] | null =>
    containers?.map((container) => {
      const { resources, name } = container;
      const added = { requests: missingIn(resources.requests, requests), limits: missingIn(resources.limits, limits) };
      if (added.requests.length > 0) texts.push(`${added.requests.join(', ')} request for ${role} ${name}`);
      if (added.limits.length > 0) texts.push(`${added.limits.join(', ')} limit for ${role} ${name}`);
      return { ...container, resources: merged(resources, { requests, limits }) };
    }) ?? null;
  const containers = complete(pod.spec.containers, 'container');
  const initContainers = complete(pod.spec.initContainers ?? null, 'init container');
  if (texts.length === 0) return pod;
  const annotations = { ...pod.metadata.annotations, [annotation]: `LimitRanger plugin set: ${texts.join('; ')}` };
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, containers, ...(initContainers === null ? {} : { initContainers }) },
  };
}

type Limits = Readonly<Record<string, string | number>>;

const missingIn = (given: Limits = {}, defaults: Limits): readonly string[] =>
  Object.keys(defaults)
    .filter((name) => !Object.hasOwn(given, name))
    .sort();

function merged(
  resources: Container['resources'],
  { requests, limits }: { readonly requests: Limits; readonly limits: Limits },
): Container['resources'] {
  const all = { requests: { ...requests, ...resources.requests }, limits: { ...limits, ...resources.limits } };
  return {
    ...resources,
    ...(Object.keys(all.limits).length === 0 ? {} : { limits: all.limits }),
    ...(Object.keys(all.requests).length === 0 ? {} : { requests: all.requests }),
  };
}

/** Throws a 403 for a Pod or claim that exceeds a LimitRange of its namespace. */
export function checkLimits(
  { watchCache, plugins }: ServerContext,
  resource: Resource,
  { subresource }: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): void {
  const isPod = resource.kind === podKind;
  if (!plugins.has('LimitRanger') || subresource !== '' || (isPod && old !== undefined)) return;
  if (old?.metadata.deletionTimestamp !== undefined) return;
  for (const range of rangesIn(watchCache, next.metadata.namespace ?? '')) {
    const problems = limitsIn(range).flatMap((limit) =>
      isPod ? podProblems(limit, next as Pod) : claimProblems(limit, next as PersistentVolumeClaim),
    );
    const distinct = [...new Set(problems)];
    if (distinct.length === 0) continue;
    const why = distinct.length === 1 ? distinct.join('') : `[${distinct.join(', ')}]`;
    throw forbidden(subjectOf(resource, next.metadata.name ?? ''), why);
  }
}

function podProblems(limit: LimitRangeItem, { spec }: Pod): readonly string[] {
  if (limit.type === 'Pod') {
    return problemsOf(limit, { requests: podTotals(spec, 'requests'), limits: podTotals(spec, 'limits') });
  }
  if (limit.type !== 'Container') return [];
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
    problemsOf(limit, { requests: amounts(resources.requests), limits: amounts(resources.limits) }),
  );
}

function claimProblems(limit: LimitRangeItem, { spec }: PersistentVolumeClaim): readonly string[] {
  if (limit.type !== 'PersistentVolumeClaim') return [];
  const requests = amounts(spec.resources.requests);
  return [
    ...each(limit.min, (name, min) => tooLittle(limit.type, name, min, { requests, limits: new Map() })),
    ...each(limit.max, (name, max) => {
      const request = requests.get(name);
      const rule = `maximum ${name} usage per ${limit.type} is ${printQuantity(max)}`;
      if (request === undefined) return `${rule}.  No request is specified`;
      return request.nano > max.nano ? `${rule}, but request is ${printQuantity(request)}` : undefined;
    }),
  ];
}

interface Used {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

const problemsOf = ({ type, min, max, maxLimitRequestRatio }: LimitRangeItem, used: Used): readonly string[] => [
  ...each(min, (name, amount) => tooLittle(type, name, amount, used)),
  ...each(max, (name, amount) => tooMuch(type, name, amount, used)),
  ...each(maxLimitRequestRatio, (name, ratio) => tooWide(type, name, ratio, used)),
];

const each = (given: Limits = {}, problem: (name: string, amount: Quantity) => string | undefined): readonly string[] =>
  Object.entries(given).flatMap(([name, amount]) => problem(name, parseQuantity(String(amount))) ?? []);

function tooLittle(type: string, name: string, min: Quantity, { requests, limits }: Used): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `minimum ${name} usage per ${type} is ${printQuantity(min)}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  if (request.nano < min.nano) return `${rule}, but request is ${printQuantity(request)}`;
  return limit !== undefined && limit.nano < min.nano ? `${rule}, but limit is ${printQuantity(limit)}` : undefined;
}

function tooMuch(type: string, name: string, max: Quantity, { requests, limits }: Used): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `maximum ${name} usage per ${type} is ${printQuantity(max)}`;
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (limit.nano > max.nano) return `${rule}, but limit is ${printQuantity(limit)}`;
  return request !== undefined && request.nano > max.nano
    ? `${rule}, but request is ${printQuantity(request)}`
    : undefined;
}

function tooWide(type: string, name: string, ratio: Quantity, { requests, limits }: Used): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `${name} max limit to request ratio per ${type} is ${printQuantity(ratio)}`;
  if (request === undefined || request.nano === 0n) return `${rule}, but no request is specified or request is 0`;
  if (limit === undefined || limit.nano === 0n) return `${rule}, but no limit is specified or limit is 0`;
  const provided = Number(limit.nano) / Number(request.nano);
  return provided > Number(ratio.nano) / 1e9 ? `${rule}, but provided ratio is ${provided.toFixed(6)}` : undefined;
}

const limitsIn = ({ spec }: LimitRange): readonly LimitRangeItem[] => spec.limits ?? [];

function rangesIn(watchCache: WatchCache, namespace: string): readonly LimitRange[] {
  const cache = watchCache.of(limitRangeKind);
  return cache.range(cache.scope(namespace)).map(({ object }) => object as LimitRange); // a cache holds objects of its kind
}
