import type { StatusError } from '../../api/errors.ts';
import { forbidden, invalid } from '../../api/errors.ts';
import { forbiddenField } from '../../api/field-errors.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import { maxWrites } from '../../store/limits.ts';
import type { Write } from '../../store/store.ts';
import type { Plan, PlanOptions } from '../allocate/service-allocator.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';

/** The claims that are written and released in the commit of an object. */
export interface Allocation {
  readonly object: ApiObject;
  readonly writes: readonly Write[];
  settle(): void;
  conflictFor(key: string): StatusError | 'retry';
}

export function allocateForCreate(
  context: ServerContext,
  { kind }: Resource,
  object: ApiObject,
  dryRun: boolean,
): Allocation {
  if (kind.allocates === 'nothing') return nothing(object);
  return allocated(context.allocator.planCreate(asService(object), planOptions(context, dryRun)));
}

export function allocateForUpdate(
  context: ServerContext,
  { kind }: Resource,
  change: { readonly next: ApiObject; readonly old: ApiObject },
  dryRun: boolean,
): Allocation {
  if (kind.allocates === 'nothing') return nothing(change.next);
  return allocated(
    context.allocator.planUpdate(asService(change.next), asService(change.old), planOptions(context, dryRun)),
  );
}

/** The writes that accompany a deletion: released claims, and deletions of the objects it cascades to. */
export const releaseOnDelete = (context: ServerContext, { kind }: Resource, old: ApiObject): readonly Write[] => [
  ...(kind.allocates === 'nothing' ? [] : context.allocator.planDelete(asService(old))),
  ...cascadeDeletions(context, kind, old.metadata),
];

/** The same for an object that cannot be read. */
export const releaseUnreadable = (
  context: ServerContext,
  { kind }: Resource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): readonly Write[] => [
  ...(kind.allocates === 'nothing' ? [] : context.allocator.planRelease({ metadata: { namespace, name } })),
  ...cascadeDeletions(context, kind, { namespace, name }),
];

const cascadeDeletions = (
  { watchCache }: ServerContext,
  { deletion: { cascadesTo = [] } }: Kind,
  { namespace = '', name = '' }: ApiObject['metadata'],
): readonly Write[] =>
  cascadesTo.flatMap((kind) => {
    const cache = watchCache.of(kind);
    const item = cache.get(cache.key(namespace, name));
    return item === undefined ? [] : [{ key: item.key, value: undefined, expect: item.revision }];
  });

// Only Services allocate, and their schema decoded the object.
const asService = (object: ApiObject): Service => object as Service;

const planOptions = (context: ServerContext, dryRun: boolean): PlanOptions => ({
  context: context.write,
  dryRun,
  now: timestamp(context.clock()),
  uid: context.uid,
});

const nothing = (object: ApiObject): Allocation => ({
  object,
  writes: [],
  settle: () => undefined,
  conflictFor: () => 'retry',
});

/** The object, its claims, and one more: the status of a quota, or the Endpoints that are deleted with a Service. */
const maxClaims = maxWrites - 2;

/** The writes of one commit. Throws a 403 if they are too many, as for many node ports where many quotas count them. */
export function checkWriteCount(
  resource: Resource,
  { metadata }: ApiObject,
  writes: readonly Write[],
): readonly Write[] {
  if (writes.length <= maxWrites) return writes;
  const why = `it changes ${writes.length} keys with its addresses, node ports and quotas, and one write can change ${maxWrites}: use fewer node ports or quotas`;
  throw forbidden(subjectOf(resource, metadata.name ?? ''), why);
}

function allocated(plan: Plan): Allocation {
  const { service, writes } = plan;
  if (writes.length > maxClaims || countClaims(service) > maxClaims) {
    plan.settle();
    const why = `a Service may hold, and one change claim and release, at most ${maxClaims} addresses and node ports`;
    throw invalid({ group: '', resource: 'Service', name: service.metadata.name ?? '' }, [
      forbiddenField('spec.ports', why),
    ]);
  }
  return {
    object: service,
    writes,
    settle: () => plan.settle(),
    conflictFor: (key) => plan.conflictFor(key) ?? 'retry',
  };
}

const countClaims = ({ spec: { ports = [], clusterIPs = [] } }: Service): number =>
  ports.length <= maxClaims / 2 ? 0 : new Set(ports.map(({ nodePort = 0 }) => nodePort)).size + clusterIPs.length;
