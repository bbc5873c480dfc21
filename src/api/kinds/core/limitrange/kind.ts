import { createdAtColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import type { LimitRange, LimitRangeItem } from './schema.ts';
import { limitRange } from './schema.ts';
import { limitErrors } from './validate.ts';

export const limitRangeKind = defineKind<LimitRange>({
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  shortNames: ['limits'],
  namespaced: true,
  schema: limitRange,
  columns: [nameColumn, createdAtColumn],
  applyDefaults: (object) => {
    const limits = (object.spec.limits ?? []).map(withDefaults);
    return { ...object, spec: { limits: limits.length === 0 ? null : limits } };
  },
  validateCreate: ({ spec }) => limitErrors(spec.limits ?? []),
  validateUpdate: ({ spec }) => limitErrors(spec.limits ?? []),
});

/** The default limits of containers are the maximum, and their default requests are these limits, or the minimum. */
function withDefaults(limit: LimitRangeItem): LimitRangeItem {
  if (limit.type !== 'Container') return limit;
  const standard = { ...limit.max, ...limit.default };
  const requests = { ...limit.min, ...standard, ...limit.defaultRequest };
  return {
    ...limit,
    ...(Object.keys(standard).length === 0 ? {} : { default: standard }),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequest: requests }),
  };
}
