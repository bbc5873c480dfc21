import type { StatusError } from '../../api/errors.ts';
import { invalid } from '../../api/errors.ts';
import { forbiddenField } from '../../api/field-errors.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Write } from '../../store/store.ts';
import type { Plan, PlanOptions } from '../allocate/service-allocator.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';

/** What an object claims and releases beside itself, to be committed together with it. Only Services do. */
export interface Allocation {
  readonly object: ApiObject;
  readonly writes: readonly Write[];
  settle(): void;
  conflictFor(key: string): StatusError | 'plan again';
}

export function allocateForCreate(
  context: ServerContext,
  { kind }: Resource,
  object: ApiObject,
  dryRun: boolean,
): Allocation {
  if (kind !== serviceKind) return nothing(object);
  return allocated(context.allocator.planCreate(asService(object), planOptions(context, dryRun)));
}

export function allocateForUpdate(
  context: ServerContext,
  { kind }: Resource,
  change: { readonly next: ApiObject; readonly old: ApiObject },
  dryRun: boolean,
): Allocation {
  if (kind !== serviceKind) return nothing(change.next);
  return allocated(
    context.allocator.planUpdate(asService(change.next), asService(change.old), planOptions(context, dryRun)),
  );
}

/** What goes together with an object: a Service's addresses and ports, and the Endpoints of the same name. */
export function releaseOnDelete(context: ServerContext, { kind }: Resource, old: ApiObject): readonly Write[] {
  if (kind !== serviceKind) return [];
  const endpoints = context.hub.cache(endpointsKind);
  const item = endpoints.get(endpoints.key(old.metadata.namespace ?? '', old.metadata.name ?? ''));
  return [
    ...context.allocator.planDelete(asService(old)),
    ...(item === undefined ? [] : [{ key: item.key, value: undefined, expect: item.revision }]),
  ];
}

// `kind === serviceKind` has just been checked, and its schema decoded the object.
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
  conflictFor: () => 'plan again',
});

/** A commit takes 128 keys: the object, its claims, and when it is deleted the Endpoints of its name. */
const maxClaims = 126;

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
    conflictFor: (key) => plan.conflictFor(key) ?? 'plan again',
  };
}

const countClaims = ({ spec: { ports = [], clusterIPs = [] } }: Service): number =>
  ports.length <= maxClaims / 2 ? 0 : new Set(ports.map(({ nodePort = 0 }) => nodePort)).size + clusterIPs.length;
