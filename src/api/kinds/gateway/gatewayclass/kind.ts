// GatewayClass: which controller serves Gateways.

import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import { conditionErrors } from '../../../condition-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, listMap, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { gatewayGroup } from '../labels.ts';
import type { GatewayVersion } from '../shared.ts';
import { conditions, patternErrors, pendingConditions, schemaGroup } from '../shared.ts';

const schemaOf = (version: GatewayVersion) => {
  const group = schemaGroup(version);
  return objectSchema(`${group}.GatewayClass`, 'A class of Gateways, which one controller serves.', {
    spec: always(
      2,
      struct(`${group}.GatewayClassSpec`, 'The controller of the class.', {
        controllerName: always(1, string, 'The controller, such as fairlead.dev/gateway. Cannot be changed.', {
          required: true,
        }),
        parametersRef: pointer(
          2,
          struct(`${group}.ParametersReference`, 'An object with parameters of the controller.', {
            group: always(1, string, 'Its group.', { required: true }),
            kind: always(2, string, 'Its kind.', { required: true }),
            name: always(3, string, 'Its name.', { required: true }),
            namespace: pointer(4, string, 'Its namespace.'),
          }),
          'Parameters of the controller. Fairlead has none.',
        ),
        description: pointer(3, string, 'A description, at most 64 characters.'),
      }),
      'The controller of the class.',
    ),
    status: optional(
      3,
      struct(`${group}.GatewayClassStatus`, 'The state of the class.', {
        conditions: optional(1, conditions, 'Accepted and SupportedVersion.'),
        supportedFeatures: optional(
          2,
          listMap(
            struct(`${group}.SupportedFeature`, 'A feature of the controller.', {
              name: always(1, string, 'Its name.', { required: true }),
            }),
            ['name'],
          ),
          'The features that the class supports.',
        ),
      }),
      'The state of the class.',
    ),
  });
};

export type GatewayClass = Infer<ReturnType<typeof schemaOf>>;

const controllerName =
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

const inVersion = (version: GatewayVersion, storage?: Kind<GatewayClass>): Kind<GatewayClass> =>
  defineKind<GatewayClass>({
    group: gatewayGroup,
    version,
    kind: 'GatewayClass',
    plural: 'gatewayclasses',
    shortNames: ['gc'],
    categories: ['gateway-api'],
    namespaced: false,
    schema: schemaOf(version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [
      nameColumn,
      column('Controller', 'The controller of the class.', ({ spec }) => spec.controllerName, {
        path: '.spec.controllerName',
      }),
      column('Accepted', 'Whether the controller accepts the class.', ({ status }) => acceptedIn(status), {
        path: '.status.conditions[?(@.type=="Accepted")].status',
      }),
      customAgeColumn,
      column('Description', 'A description.', ({ spec }) => spec.description ?? '', {
        wide: true,
        path: '.spec.description',
      }),
    ],
    ...(storage && { storage: identityConversion(storage) }),
    prepareForCreate: (object) => ({ ...object, status: { conditions: pendingConditions('Accepted') } }),
    validateCreate: ({ spec }) => patternErrors('spec.controllerName', spec.controllerName, controllerName),
    validateUpdate: ({ spec }, old) =>
      spec.controllerName === old.spec.controllerName
        ? []
        : [invalidValue('spec.controllerName', spec.controllerName, 'field is immutable')],
    validateStatus: ({ status }) => conditionErrors('status.conditions', status?.conditions ?? []),
  });

const acceptedIn = (status: GatewayClass['status']): string =>
  (status?.conditions ?? []).find(({ type }) => type === 'Accepted')?.status ?? '';

/** The storage version. */
export const gatewayClassKind = inVersion('v1');
/** The older version. */
export const gatewayClassBetaKind = inVersion('v1beta1', gatewayClassKind);
