// The APIServices of what this server itself serves, which it creates as kube-apiserver does.

import { ignoreNotFound } from '../../api/errors.ts';
import { apiServiceName } from '../../api/kinds/apiregistration/apiservice/facts.ts';
import { apiServiceKind } from '../../api/kinds/apiregistration/apiservice/kind.ts';
import type { ApiService } from '../../api/kinds/apiregistration/apiservice/schema.ts';
import type { Kind } from '../../api/kind.ts';
import { ensureObject } from '../bootstrap/bootstrap.ts';
import type { ServerContext } from '../context.ts';
import { groupPriorityOf } from '../discovery/groups.ts';
import { isComputed } from '../usage/metrics.ts';
import { deleteObject } from '../verbs/delete-object.ts';

/** Whether and when the server writes an APIService: `onstart` for its own kinds, `true` for custom resources. */
const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

type Managed = 'onstart' | 'true';

/** The APIService of a version, as the server creates it. */
interface Registration {
  readonly name: string;
  readonly managed: Managed;
  readonly spec: ApiService['spec'];
}

const versionPriorities: Readonly<Record<string, number>> = { 'v1.': 1, 'v2.autoscaling': 30 };

/** The APIServices of all served kinds. There is none for what a server in the cluster usually serves, nor for APIServices. */
function registrationsOf(kinds: readonly Kind[]): readonly Registration[] {
  const byName = new Map<string, Registration>();
  for (const kind of kinds) {
    const { group, version, source } = kind;
    const name = apiServiceName(kind);
    if (isComputed(kind) || kind.group === apiServiceKind.group || byName.has(name)) continue;
    const groupPriorityMinimum = groupPriorityOf(group);
    const isCustom = groupPriorityMinimum === groupPriorityOf('custom');
    const versionPriority = versionPriorities[name] ?? (isCustom ? 100 : 15);
    const spec = { ...(group === '' ? {} : { group }), version, groupPriorityMinimum, versionPriority };
    byName.set(name, { name, managed: source === undefined ? 'onstart' : 'true', spec });
  }
  return [...byName.values()];
}

/** The writes that make the APIServices of this server right. */
interface RegistrationPlan {
  readonly ensure: readonly Registration[];
  readonly remove: readonly string[];
}

/**
 * Plans the APIServices. Those without the label belong to users and are left unchanged. Those of own kinds are restored
 * when the server starts (`isStart`), and those of custom resources always.
 */
export function planRegistrations(
  kinds: readonly Kind[],
  stored: readonly ApiService[],
  { isStart, isAlone }: { readonly isStart: boolean; readonly isAlone: boolean },
): RegistrationPlan {
  const wanted = registrationsOf(kinds);
  const names = new Set(wanted.map(({ name }) => name));
  const byName = new Map(stored.map((each) => [each.metadata.name ?? '', each]));
  return {
    ensure: wanted.filter(({ name, managed, spec }) => {
      if (managed === 'onstart' && !isStart) return false;
      const old = byName.get(name);
      if (old === undefined) return true;
      return old.metadata.labels?.[managedLabel] !== undefined && !isEqual(old.spec, spec);
    }),
    remove: stored.flatMap(({ metadata: { name = '', labels } }) => {
      const managed = labels?.[managedLabel];
      // Another server of the store may serve more kinds than this one.
      const mayRemove = managed === 'true' || (managed === 'onstart' && isStart && isAlone);
      return mayRemove && !names.has(name) ? [name] : [];
    }),
  };
}

const isEqual = (old: ApiService['spec'], spec: ApiService['spec']): boolean =>
  old.service === undefined &&
  old.groupPriorityMinimum === spec.groupPriorityMinimum &&
  old.versionPriority === spec.versionPriority;

/** Writes the plan. */
export async function ensureRegistrations(context: ServerContext, isStart: boolean): Promise<void> {
  const { watchCache, store, resources } = context;
  const cache = watchCache.of(apiServiceKind);
  const stored = cache
    .range(cache.prefix)
    .flatMap(({ object, problem }) => (problem === undefined ? [object as ApiService] : []));
  const plan = planRegistrations(resources.kinds, stored, { isStart, isAlone: !store.isShared });
  // Concurrently, so that the store writes them in one batch.
  await Promise.all([
    ...plan.ensure.map(({ name, managed, spec }) => {
      const object = { metadata: { name, labels: { [managedLabel]: managed } }, spec, status: {} };
      return ensureObject(context, apiServiceKind, object, (old) => ({ ...old, spec }) as ApiService);
    }),
    ...plan.remove.map((name) =>
      ignoreNotFound(deleteObject(context, { kind: apiServiceKind, cache }, { namespace: '', name }, {})),
    ),
  ]);
}
