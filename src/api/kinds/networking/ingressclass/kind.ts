import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required, tooLong } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { dnsLabelErrors, dnsSubdomainErrors, domainPrefixedPathErrors, subdomainName } from '../../../names.ts';
import { invalidAll, validateSegment } from '../ingress/validate-backend.ts';
import type { IngressClass, IngressClassParameters } from './schema.ts';
import { ingressClass } from './schema.ts';

const maxControllerBytes = 250;
const scopes: readonly string[] = ['Cluster', 'Namespace'];

/** Parameters are cluster-scoped unless they say otherwise. */
function applyDefaults(object: IngressClass): IngressClass {
  const { parameters } = object.spec;
  if (parameters === undefined || parameters.scope !== undefined) return object;
  return { ...object, spec: { ...object.spec, parameters: { ...parameters, scope: 'Cluster' } } };
}

function validate({ spec: { controller = '', parameters } }: IngressClass): FieldError[] {
  return [
    ...validateController('spec.controller', controller),
    ...(parameters === undefined ? [] : validateParameters('spec.parameters', parameters)),
  ];
}

function validateController(path: string, controller: string): FieldError[] {
  if (controller === '') return [required(path)];
  return [
    ...(Buffer.byteLength(controller) > maxControllerBytes ? [tooLong(path, maxControllerBytes)] : []),
    ...domainPrefixedPathErrors(controller).map(({ part, message }) => invalidValue(path, part, message)),
  ];
}

function validateParameters(path: string, parameters: IngressClassParameters): FieldError[] {
  const { apiGroup, kind, name, scope } = parameters;
  return [
    ...(apiGroup === undefined ? [] : invalidAll(`${path}.apiGroup`, apiGroup, dnsSubdomainErrors(apiGroup))),
    ...validateSegment(`${path}.kind`, kind),
    ...validateSegment(`${path}.name`, name),
    ...(scope === undefined ? [required(`${path}.scope`)] : validateScope(path, scope, parameters.namespace)),
  ];
}

function validateScope(path: string, scope: string, namespace: string | undefined): FieldError[] {
  if (!scopes.includes(scope)) return [notSupported(`${path}.scope`, scope, scopes)];
  const at = `${path}.namespace`;
  if (scope === 'Cluster') {
    return namespace === undefined ? [] : [forbiddenField(at, "`parameters.scope` is set to 'Cluster'")];
  }
  if (namespace === undefined) return [required(at, "`parameters.scope` is set to 'Namespace'")];
  return invalidAll(at, namespace, dnsLabelErrors(namespace));
}

function validateUpdate(object: IngressClass, old: IngressClass): FieldError[] {
  const { controller = '' } = object.spec;
  const isChanged = controller !== (old.spec.controller ?? '');
  return [
    ...(isChanged ? [invalidValue('spec.controller', controller, 'field is immutable')] : []),
    ...validate(object),
  ];
}

function parametersText({ spec: { parameters } }: IngressClass): string {
  if (parameters === undefined) return '<none>';
  const { apiGroup, kind, name } = parameters;
  return apiGroup === undefined ? `${kind}/${name}` : `${kind}.${apiGroup}/${name}`;
}

/** IngressClass of networking.k8s.io/v1. */
export const ingressClassKind: Kind<IngressClass> = defineKind<IngressClass>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  namespaced: false,
  schema: ingressClass,
  generation: 'spec',
  columns: [
    nameColumn,
    column<IngressClass>('Controller', 'Who serves the class.', ({ spec }) => spec.controller ?? ''),
    column<IngressClass>('Parameters', 'Where its settings are.', parametersText),
    ageColumn,
  ],
  applyDefaults,
  nameErrors: subdomainName,
  validateCreate: validate,
  validateUpdate,
});
