import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required, tooLong } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { dnsLabelErrors, dnsSubdomainErrors, domainPrefixedPathErrors } from '../../../names.ts';
import { validateSegment } from '../ingress/validate.ts';

const networking = 'io.k8s.api.networking.v1';

const parametersReference = struct(
  `${networking}.IngressClassParametersReference`,
  'Identifies an object with settings of the controller.',
  {
    apiGroup: pointer(1, string, 'Group of the object; the core group if unset.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
    scope: pointer(4, string, 'Cluster (the default) or Namespace.'),
    namespace: pointer(5, string, 'Namespace of the object; required with scope Namespace.'),
  },
);

const ingressClassSpec = struct(`${networking}.IngressClassSpec`, 'The controller of a class.', {
  controller: optional(1, string, 'The controller, a domain-prefixed path such as example.org/ingress.'),
  parameters: pointer(2, parametersReference, 'Further settings of the controller.'),
});

/** A class of Ingresses that one controller serves (networking.k8s.io/v1). */
const ingressClass = objectSchema(
  `${networking}.IngressClass`,
  'A class of Ingresses, implemented by one controller.',
  {
    spec: always(2, ingressClassSpec, 'The controller of the class.'),
  },
);

export type IngressClass = Infer<typeof ingressClass>;
export type IngressClassSpec = Infer<typeof ingressClassSpec>;
export type IngressClassParameters = Infer<typeof parametersReference>;

const maxControllerBytes = 250;
const scopes: readonly string[] = ['Cluster', 'Namespace'];

/** The default scope of parameters is Cluster. */
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
    column<IngressClass>('Controller', 'The controller of the class.', ({ spec }) => spec.controller ?? ''),
    column<IngressClass>('Parameters', 'The object with further settings.', parametersText),
    ageColumn,
  ],
  applyDefaults,
  validateCreate: validate,
  validateUpdate,
});
