// Gateway: addresses and ports, from which routes lead to Services.

import { canonicalAddress } from '../../../addresses.ts';
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import { conditionErrors } from '../../../condition-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { gatewayGroup } from '../labels.ts';
import type { GatewayVersion } from '../shared.ts';
import { countErrors, patternErrors, pendingConditions, portErrors, sectionName } from '../shared.ts';
import type { Gateway, Listener } from './schema.ts';
import { gatewaySchema } from './schema.ts';

const inVersion = (version: GatewayVersion, storage?: Kind<Gateway>): Kind<Gateway> =>
  defineKind<Gateway>({
    group: gatewayGroup,
    version,
    kind: 'Gateway',
    plural: 'gateways',
    shortNames: ['gtw'],
    categories: ['gateway-api'],
    namespaced: true,
    schema: gatewaySchema(version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [
      nameColumn,
      column('Class', 'The GatewayClass.', ({ spec }) => spec.gatewayClassName, { path: '.spec.gatewayClassName' }),
      column(
        'Address',
        'Its addresses.',
        ({ status }) => (status?.addresses ?? []).map(({ value }) => value).join(','),
        {
          path: '.status.addresses[*].value',
        },
      ),
      column(
        'Programmed',
        'Whether connections are routed.',
        ({ status }) => (status?.conditions ?? []).find(({ type }) => type === 'Programmed')?.status ?? '',
        { path: '.status.conditions[?(@.type=="Programmed")].status' },
      ),
      customAgeColumn,
    ],
    ...(storage && { storage: identityConversion(storage) }),
    applyDefaults,
    prepareForCreate: (object) => ({ ...object, status: { conditions: pendingConditions('Accepted', 'Programmed') } }),
    validateCreate: specErrors,
    validateUpdate: specErrors,
    validateStatus: ({ status }) => conditionErrors('status.conditions', status?.conditions ?? []),
  });

/** The storage version. */
export const gatewayKind = inVersion('v1');
/** The older version. */
export const gatewayBetaKind = inVersion('v1beta1', gatewayKind);

function applyDefaults(object: Gateway): Gateway {
  const { listeners, addresses } = object.spec;
  return {
    ...object,
    spec: {
      ...object.spec,
      ...(listeners && { listeners: listeners.map(withDefaults) }),
      ...(addresses && { addresses: addresses.map((address) => ({ type: 'IPAddress', ...address })) }),
    },
  };
}

function withDefaults(listener: Listener): Listener {
  const { namespaces = {}, kinds, ...rest } = listener.allowedRoutes ?? {};
  return {
    ...listener,
    allowedRoutes: {
      ...rest,
      namespaces: { from: 'Same', ...namespaces },
      ...(kinds && { kinds: kinds.map((kind) => ({ group: gatewayGroup, ...kind })) }),
    },
  };
}

const protocolName =
  /^(?:[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]+)$/;
const origins = ['All', 'Selector', 'Same', 'None'];

function specErrors({ spec }: Gateway): readonly FieldError[] {
  const listeners = spec.listeners ?? [];
  const broken = (message: string): FieldError => invalidValue('spec.listeners', 'array', message);
  const placeOf = ({ port, protocol, hostname }: Listener): string => `${port} ${protocol} ${hostname ?? ''}`;
  return [
    ...(spec.gatewayClassName === '' ? [required('spec.gatewayClassName')] : []),
    ...countErrors('spec.listeners', listeners, { least: 1, most: 64 }),
    ...listeners.flatMap(listenerErrors),
    ...(listeners.some(({ protocol, tls }) => ['HTTP', 'TCP', 'UDP'].includes(protocol) && tls !== undefined)
      ? [broken("tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']")]
      : []),
    ...(listeners.some(({ protocol, hostname = '' }) => ['TCP', 'UDP'].includes(protocol) && hostname !== '')
      ? [broken("hostname must not be specified for protocols ['TCP', 'UDP']")]
      : []),
    ...(new Set(listeners.map(({ name }) => name)).size < listeners.length
      ? [broken('Listener name must be unique within the Gateway')]
      : []),
    ...(new Set(listeners.map(placeOf)).size < listeners.length
      ? [broken('Combination of port, protocol and hostname must be unique for each listener')]
      : []),
    ...addressErrors(spec.addresses ?? []),
  ];
}

function listenerErrors({ name, port, protocol, allowedRoutes }: Listener, index: number): readonly FieldError[] {
  const path = `spec.listeners[${index}]`;
  const from = allowedRoutes?.namespaces?.from;
  return [
    ...patternErrors(`${path}.name`, name, sectionName),
    ...portErrors(`${path}.port`, port),
    ...patternErrors(`${path}.protocol`, protocol, protocolName),
    ...countErrors(`${path}.allowedRoutes.kinds`, allowedRoutes?.kinds, { most: 8 }),
    ...(from === undefined || origins.includes(from)
      ? []
      : [
          {
            path: `${path}.allowedRoutes.namespaces.from`,
            reason: 'FieldValueNotSupported' as const,
            body: `Unsupported value: ${JSON.stringify(from)}: supported values: ${origins.map((each) => JSON.stringify(each)).join(', ')}`,
          },
        ]),
  ];
}

function addressErrors(addresses: NonNullable<Gateway['spec']['addresses']>): readonly FieldError[] {
  const values = addresses.flatMap(({ type, value = '' }) => (type === 'IPAddress' && value !== '' ? [value] : []));
  return [
    ...countErrors('spec.addresses', addresses, { most: 16 }),
    ...(new Set(values).size < values.length
      ? [invalidValue('spec.addresses', 'array', 'IPAddress values must be unique')]
      : []),
    ...addresses.flatMap(({ type, value = '' }, index) =>
      type === 'IPAddress' && value !== '' && canonicalAddress(value) === undefined
        ? [invalidValue(`spec.addresses[${index}]`, value, 'must be a valid IP address')]
        : [],
    ),
  ];
}
