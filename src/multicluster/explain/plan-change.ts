// Plans that one member exports a service, or withdraws its export, given the current state of all members.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { audienceAnnotation } from '../../api/kinds/multicluster/audience.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { guard } from '../guard/guard.ts';
import type { SetRules } from '../guard/policy.ts';
import { overQuota } from '../guard/quotas.ts';
import type { Merged, ConflictPolicy } from '../merge/merged.ts';
import { recordsIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import type { Denial, ClusterExport } from '../record.ts';
import { textOf } from '../record.ts';
import type { ExportPlan } from './plan.ts';
import { hypotheticalExport, plan, withExport, withoutExport } from './plan.ts';

/** The current state of the set. */
export interface PlanSource {
  readonly merged: Merged;
  readonly members: readonly Member[];
  readonly conflictPolicy: ConflictPolicy;
  readonly rules: SetRules;
  /** The time of the change. */
  readonly now: string;
}

export interface PlannedChange {
  readonly verb: 'export' | 'unexport';
  readonly member: Member;
  /** The Service as it would be; default: as it is. */
  readonly service?: Service | undefined;
  /** The audience of the export; default: that of its export, if there is one. */
  readonly audience?: string | undefined;
}

/** Plans that `member` exports a service, or withdraws it; nothing is written. */
export function planChange(
  key: Key,
  { verb, member, service, audience }: PlannedChange,
  { merged, members, conflictPolicy, rules, now }: PlanSource,
): ExportPlan {
  const { namespace = '', name } = nameFor(key);
  const before = merged.exporters.map(({ record }) => record);
  const { caches, options } = member;
  const planned = hypotheticalExport(
    { namespace, name },
    {
      cluster: member.id,
      service: service ?? caches.services.get(key),
      slices: caches.slices.by('service', key),
      region: options.region,
      now,
      annotations: {
        ...(caches.serviceExports.get(key) ?? caches.superclusterExports.get(key))?.metadata.annotations,
        ...(audience === undefined ? {} : { [audienceAnnotation]: audience }),
      },
    },
  );
  const added = member.withAddresses(planned);
  const { policy = {} } = options;
  const { record } = guard(added, policy, {
    quotaDenial: quotaDenial(member, added),
    rules,
  });
  return plan(
    { namespace, name },
    {
      before,
      after: verb === 'export' ? withExport(before, record) : withoutExport(before, member.id),
      options: { incumbents: merged.order, conflictPolicy },
      unknownClusters: new Set(members.filter(({ caches }) => !caches.isSynced).map(({ id }) => id)),
      members: members.map((each) => ({
        facts: each.facts(),
        actual: each.actual(key),
        vipFor: ({ views }) =>
          each.options.vips?.preview(key, views.clusterset ?? views.supercluster) ?? { state: 'unneeded' },
      })),
    },
  );
}

/** Why another export would exceed the quotas of its member; undefined: it would not. */
function quotaDenial(member: Member, added: ClusterExport): Denial | undefined {
  const service = textOf(added);
  const others = recordsIn(member).filter((record) => textOf(record) !== service);
  return overQuota([...others, added], member.options.policy ?? {}).get(service);
}
