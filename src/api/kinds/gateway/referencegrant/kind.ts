// ReferenceGrant: which objects of other namespaces may refer to objects of its namespace.

import { customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, pointer, string, struct } from '../../../schema/schema.ts';
import { gatewayGroup } from '../labels.ts';
import type { GatewayVersion } from '../shared.ts';
import { countErrors, schemaGroup } from '../shared.ts';

const schemaOf = (version: GatewayVersion) => {
  const group = schemaGroup(version);
  return objectSchema(`${group}.ReferenceGrant`, 'Permits references from other namespaces to this one.', {
    spec: always(
      2,
      struct(`${group}.ReferenceGrantSpec`, 'The permitted references.', {
        from: always(
          1,
          list(
            struct(`${group}.ReferenceGrantFrom`, 'Objects that may refer.', {
              group: always(1, string, 'Their group.', { required: true }),
              kind: always(2, string, 'Their kind, such as TCPRoute.', { required: true }),
              namespace: always(3, string, 'Their namespace.', { required: true }),
            }),
          ),
          'Objects that may refer, 1 to 16.',
          { required: true },
        ),
        to: always(
          2,
          list(
            struct(`${group}.ReferenceGrantTo`, 'Objects that may be referred to.', {
              group: always(1, string, 'Their group; empty for the core group.', { required: true }),
              kind: always(2, string, 'Their kind, such as Service.', { required: true }),
              name: pointer(3, string, 'The only one; default: all.'),
            }),
          ),
          'Objects of this namespace that may be referred to, 1 to 16.',
          { required: true },
        ),
      }),
      'The permitted references.',
    ),
  });
};

export type ReferenceGrant = Infer<ReturnType<typeof schemaOf>>;

const inVersion = (version: GatewayVersion, storage?: Kind<ReferenceGrant>): Kind<ReferenceGrant> =>
  defineKind<ReferenceGrant>({
    group: gatewayGroup,
    version,
    kind: 'ReferenceGrant',
    plural: 'referencegrants',
    shortNames: ['refgrant'],
    categories: ['gateway-api'],
    namespaced: true,
    schema: schemaOf(version),
    custom: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [nameColumn, customAgeColumn],
    ...(storage && { storage: identityConversion(storage) }),
    validateCreate: specErrors,
    validateUpdate: specErrors,
  });

const specErrors = ({ spec }: ReferenceGrant): readonly FieldError[] => [
  ...countErrors('spec.from', spec.from, { least: 1, most: 16 }),
  ...countErrors('spec.to', spec.to, { least: 1, most: 16 }),
];

export const referenceGrantKind = inVersion('v1');
/** The older version. */
export const referenceGrantBetaKind = inVersion('v1beta1', referenceGrantKind);
