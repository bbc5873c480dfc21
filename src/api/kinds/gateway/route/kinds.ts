// TCPRoute and UDPRoute: which Services get the connections of listeners.

import { customAgeColumn, nameColumn } from '../../../columns.ts';
import { conditionErrors } from '../../../condition-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { gatewayGroup } from '../labels.ts';
import type { GatewayVersion } from '../shared.ts';
import { countErrors, patternErrors, portErrors, sectionName } from '../shared.ts';
import type { BackendReference, ParentReference, Route, RouteProtocol } from './schema.ts';
import { routeSchema } from './schema.ts';

const inVersion = (protocol: RouteProtocol, version: GatewayVersion, storage?: Kind<Route>): Kind<Route> =>
  defineKind<Route>({
    group: gatewayGroup,
    version,
    kind: `${protocol}Route`,
    plural: `${protocol.toLowerCase()}routes`,
    categories: ['gateway-api'],
    namespaced: true,
    schema: routeSchema(protocol, version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [nameColumn, customAgeColumn],
    ...(storage && {
      storage: identityConversion(storage),
      deprecation: `The ${version} version of ${protocol}Route has been deprecated and will be removed in a future release of the API. Please upgrade to v1.`,
    }),
    applyDefaults,
    prepareForCreate: ({ status: _status, ...rest }) => rest,
    validateCreate: specErrors,
    validateUpdate: specErrors,
    validateStatus: ({ status }) =>
      (status?.parents ?? []).flatMap(({ conditions }, index) =>
        conditionErrors(`status.parents[${index}].conditions`, conditions ?? []),
      ),
  });

export const tcpRouteKind = inVersion('TCP', 'v1');
/** The older version. */
export const tcpRouteAlphaKind = inVersion('TCP', 'v1alpha2', tcpRouteKind);
export const udpRouteKind = inVersion('UDP', 'v1');
/** The older version. */
export const udpRouteAlphaKind = inVersion('UDP', 'v1alpha2', udpRouteKind);

function applyDefaults(object: Route): Route {
  const { parentRefs, rules } = object.spec;
  return {
    ...object,
    spec: {
      ...object.spec,
      ...(parentRefs && { parentRefs: parentRefs.map((each) => ({ group: gatewayGroup, kind: 'Gateway', ...each })) }),
      ...(rules && {
        rules: rules.map(({ backendRefs, ...rule }) => ({
          ...rule,
          ...(backendRefs && { backendRefs: backendRefs.map(withDefaults) }),
        })),
      }),
    },
  };
}

const withDefaults = (backend: BackendReference): BackendReference => ({
  group: '',
  kind: 'Service',
  weight: 1,
  ...backend,
});

function specErrors({ spec }: Route): readonly FieldError[] {
  const rules = spec.rules ?? [];
  return [
    ...countErrors('spec.parentRefs', spec.parentRefs, { most: 32 }),
    ...parentErrors(spec.parentRefs ?? []),
    ...countErrors('spec.rules', rules, { least: 1, most: 1 }),
    ...rules.flatMap(({ name, backendRefs }, index) => [
      ...patternErrors(`spec.rules[${index}].name`, name, sectionName),
      ...countErrors(`spec.rules[${index}].backendRefs`, backendRefs, { least: 1, most: 16 }),
      ...(backendRefs ?? []).flatMap((backend, at) =>
        backendErrors(`spec.rules[${index}].backendRefs[${at}]`, backend),
      ),
    ]),
  ];
}

function parentErrors(parents: readonly ParentReference[]): readonly FieldError[] {
  const errors = parents.flatMap(({ port, sectionName: section }, index) => [
    ...portErrors(`spec.parentRefs[${index}].port`, port),
    ...patternErrors(`spec.parentRefs[${index}].sectionName`, section, sectionName),
  ]);
  const byParent = Map.groupBy(parents, ({ group, kind, namespace = '', name }) =>
    [group, kind, namespace, name].join(),
  );
  for (const same of byParent.values()) {
    if (same.length < 2) continue;
    const broken = (word: string): FieldError =>
      invalidValue(
        'spec.parentRefs',
        'array',
        `sectionName or port must be ${word} when parentRefs includes 2 or more references to the same parent`,
      );
    if (same.some(({ sectionName: section = '', port }) => section === '' && port === undefined)) {
      errors.push(broken('specified'));
    } else if (
      new Set(same.map(({ sectionName: section = '', port = 0 }) => `${section} ${port}`)).size < same.length
    ) {
      errors.push(broken('unique'));
    }
  }
  return errors;
}

function backendErrors(path: string, { group, kind, port, weight = 1 }: BackendReference): readonly FieldError[] {
  return [
    ...portErrors(`${path}.port`, port),
    ...(group === '' && kind === 'Service' && port === undefined
      ? [invalidValue(path, 'object', 'Must have port for Service reference')]
      : []),
    ...(weight < 0
      ? [invalidValue(`${path}.weight`, weight, `${path}.weight in body should be greater than or equal to 0`)]
      : []),
    ...(weight > 1_000_000
      ? [invalidValue(`${path}.weight`, weight, `${path}.weight in body should be less than or equal to 1000000`)]
      : []),
  ];
}
