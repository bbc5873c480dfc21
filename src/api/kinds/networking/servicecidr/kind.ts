import { canonicalCidrErrors } from '../../../address-errors.ts';
import { parseCidr } from '../../../addresses.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { ServiceCidr } from './schema.ts';
import { serviceCidr } from './schema.ts';

const path = 'spec.cidrs';
const immutable = 'field is immutable';

function validateCreate({ spec: { cidrs = [] } }: ServiceCidr): FieldError[] {
  if (cidrs.length === 0) return [required(path, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalidValue(path, { CIDRs: cidrs }, 'may only hold up to 2 values')];
  const [first, second] = cidrs.map((cidr) => parseCidr(cidr)?.family);
  const isSingle = cidrs.length === 2 && first !== undefined && first === second;
  const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
  return [
    ...cidrs.flatMap((cidr, index) => invalidAll(`${path}[${index}]`, cidr, canonicalCidrErrors(cidr))),
    ...(isSingle ? [invalidValue(path, cidrs, detail)] : []),
  ];
}

/** Ranges are immutable; a second one can be added. */
function validateUpdate(object: ServiceCidr, old: ServiceCidr): FieldError[] {
  const { cidrs = [] } = object.spec;
  const { cidrs: before = [] } = old.spec;
  const isAddition = before.length === 1 && cidrs.length === 2;
  if (before.length !== cidrs.length && !isAddition) return [invalidValue(path, cidrs, immutable)];
  const changed = before.flatMap((cidr, index) =>
    cidr === cidrs[index] ? [] : [invalidValue(`${path}[${index}]`, cidrs[index], immutable)],
  );
  return isAddition ? [...changed, ...validateCreate(object)] : changed;
}

/** ServiceCIDR of networking.k8s.io/v1. */
export const serviceCidrKind: Kind<ServiceCidr> = defineKind<ServiceCidr>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  schema: serviceCidr,
  hasStatus: true,
  columns: [
    nameColumn,
    column<ServiceCidr>('CIDRs', 'The ranges.', ({ spec }) => (spec.cidrs ?? []).join(',')),
    ageColumn,
  ],
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validateCreate,
  validateUpdate,
});
