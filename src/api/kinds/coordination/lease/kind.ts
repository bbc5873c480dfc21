import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, microTime, pointer, string, struct } from '../../../schema/schema.ts';

const coordination = 'io.k8s.api.coordination.v1';

const leaseSpec = struct(`${coordination}.LeaseSpec`, 'Who holds a lease, since when and for how long.', {
  holderIdentity: pointer(1, string, 'Who holds the lease.'),
  leaseDurationSeconds: pointer(2, int32, 'How long others wait after renewTime before they take it.'),
  acquireTime: pointer(3, microTime, 'When the holder got it.'),
  renewTime: pointer(4, microTime, 'When the holder last renewed it.'),
  leaseTransitions: pointer(5, int32, 'How often it changed hands.'),
  strategy: pointer(6, string, 'How a leader is chosen among candidates.'),
  preferredHolder: pointer(7, string, 'Who should get it next.'),
});

/** A claim to be alive, or to be the one who acts. */
const lease = objectSchema(`${coordination}.Lease`, 'A claim that its holder renews to stay in charge.', {
  spec: always(2, leaseSpec, 'Who holds the lease.'),
});

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
  columns: [nameColumn, column('Holder', 'Who holds the lease.', ({ spec }) => spec.holderIdentity ?? ''), ageColumn],
  // Coordinated leader election is behind a gate that is off.
  prepareForCreate: withoutStrategy,
  prepareForUpdate: withoutStrategy,
  nameErrors: subdomainName,
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
