import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { labelName, rfc1035Name } from '../../../names.ts';
import { endpointsKind } from '../endpoints/kind.ts';
import { columns } from './columns.ts';
import { applyDefaults } from './defaults.ts';
import { dropGatedFields } from './gated.ts';
import { serviceQuota } from './quota.ts';
import type { Service } from './schema.ts';
import { service } from './schema.ts';
import { validateStatus } from './validate-status.ts';
import { validateCreate, validateUpdate } from './validate.ts';
import { statusWarningsFor, warningsFor } from './warnings.ts';
import { withoutUnusedPolicy, wipeTypeDependentFields } from './wipe.ts';

/** Service of core/v1. */
export const serviceKind: Kind<Service> = defineKind<Service>({
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  schema: service,
  hasStatus: true,
  createOnUpdate: true,
  deleteReturns: 'object',
  columns,
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec.clusterIP ?? '',
    'spec.type': ({ spec }) => spec.type ?? '',
  },
  deletion: { cascadesTo: [endpointsKind] },
  allocates: 'clusterIpsAndNodePorts',
  quota: serviceQuota,
  applyDefaults,
  prepareForCreate: (object, context) =>
    withoutUnusedPolicy(dropGatedFields({ ...object, status: { loadBalancer: {} } }, undefined, context)),
  prepareForUpdate: (object, old, context) =>
    withoutUnusedPolicy(wipeTypeDependentFields(dropGatedFields(object, old, context), old)),
  // KEP-5311
  nameErrors: (name, isPrefix, { gates }) =>
    gates.enabled('RelaxedServiceNameValidation') ? labelName(name, isPrefix) : rfc1035Name(name, isPrefix),
  validateCreate,
  validateUpdate,
  validateStatus,
  warnings: warningsFor,
  statusWarnings: statusWarningsFor,
});
