import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, pointer, string, struct } from '../../../schema/schema.ts';

const coordination = 'io.k8s.api.coordination.v1';

const leaseSpec = struct(`${coordination}.LeaseSpec`, 'The holder and the duration of a lease.', {
  holderIdentity: pointer(1, string, 'The holder of the lease.'),
  leaseDurationSeconds: pointer(2, int32, 'Seconds after renewTime after which others may acquire the lease.'),
  acquireTime: pointer(3, microTime, 'When the holder acquired the lease.'),
  renewTime: pointer(4, microTime, 'When the holder last renewed the lease.'),
  leaseTransitions: pointer(5, int32, 'Number of changes of the holder.'),
  strategy: pointer(6, string, 'The strategy of coordinated leader election.'),
  preferredHolder: pointer(7, string, 'The preferred next holder.'),
});

const lease = objectSchema(
  `${coordination}.Lease`,
  'A lease that its holder renews, for leader election and heartbeats.',
  {
    spec: always(2, leaseSpec, 'The holder of the lease.'),
  },
);

export type Lease = Infer<typeof lease>;
export type LeaseSpec = Infer<typeof leaseSpec>;

export const leaseKind = defineKind<Lease>({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  schema: lease,
  createOnUpdate: true,
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column('Holder', 'The holder of the lease.', ({ spec }) => spec.holderIdentity ?? ''),
    ageColumn,
  ],
  // The gate of coordinated leader election is disabled.
  prepareForCreate: withoutStrategy,
  prepareForUpdate: withoutStrategy,
  validateCreate: ({ spec }) => specErrors(spec),
  validateUpdate: ({ spec }) => specErrors(spec),
});

function withoutStrategy(object: Lease): Lease {
  const { strategy: _, preferredHolder: __, ...spec } = object.spec;
  return { ...object, spec };
}

function specErrors(spec: LeaseSpec): readonly FieldError[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  const errors: FieldError[] = [];
  if (seconds !== undefined && seconds <= 0) {
    errors.push(invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
  }
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}
