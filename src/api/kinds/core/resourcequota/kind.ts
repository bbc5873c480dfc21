import { countedAs } from '../../../quota.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import type { ResourceQuota } from './schema.ts';
import { resourceQuota } from './schema.ts';
import { validateQuota, validateQuotaStatus, validateQuotaUpdate } from './validate.ts';

/** ResourceQuota of core/v1; enforced by `server/quota`. */
export const resourceQuotaKind = defineKind<ResourceQuota>({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shortNames: ['quota'],
  namespaced: true,
  schema: resourceQuota,
  quota: countedAs('count/resourcequotas', 'resourcequotas'),
  hasStatus: true,
  deleteReturns: 'object',
  columns: [
    nameColumn,
    column('Request', 'Usage and limits of requests.', (object) =>
      usage(object, (name) => !name.startsWith('limits.')),
    ),
    column('Limit', 'Usage and limits of limits.', (object) => usage(object, (name) => name.startsWith('limits.'))),
    ageColumn,
  ],
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validateCreate: validateQuota,
  validateUpdate: validateQuotaUpdate,
  validateStatus: validateQuotaStatus,
});

function usage({ status: { hard = {}, used = {} } }: ResourceQuota, isShown: (name: string) => boolean): string {
  const names = Object.keys(hard).filter(isShown).sort();
  return names.map((name) => `${name}: ${used[name] ?? 0}/${hard[name] ?? 0}`).join(', ');
}
