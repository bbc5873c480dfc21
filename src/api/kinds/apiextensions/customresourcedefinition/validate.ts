import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from '../../../names.ts';
import { equalJson } from '../../../schema/equal-json.ts';
import { approvalErrors } from './approval.ts';
import { isEstablished } from './conditions.ts';
import type { CrdVersion, CustomResourceDefinition } from './schema.ts';
import { conversionErrors } from './validate-conversion.ts';
import { requestedNameErrors } from './validate-names.ts';
import { schemaFieldErrors } from './validate-schema.ts';
import { columnErrors, deprecationErrors, selectableFieldErrors, subresourceErrors } from './validate-version.ts';

type Spec = CustomResourceDefinition['spec'];

/** The error of a name that is not that of the resource. */
export const nameErrors = ({ metadata, spec }: CustomResourceDefinition): readonly FieldError[] =>
  metadata.name === `${spec.names.plural}.${spec.group}`
    ? []
    : [invalidValue('metadata.name', metadata.name ?? '', 'must be spec.names.plural+"."+spec.group')];

/** The errors of a new definition, beyond those of its name. */
export const validateCreate = (crd: CustomResourceDefinition): readonly FieldError[] => [
  ...specErrors(crd.spec),
  ...storedVersionErrors(crd),
  ...approvalErrors(crd, undefined),
  ...preserveErrors(crd, undefined),
];

/** The errors of a changed definition. */
export function validateUpdate(crd: CustomResourceDefinition, old: CustomResourceDefinition): readonly FieldError[] {
  // An unchanged spec stays valid when the rules become stricter.
  const errors = equalJson(crd.spec, old.spec) ? [] : specErrors(crd.spec);
  return [
    ...errors,
    ...immutableErrors(crd, old),
    ...storedVersionErrors(crd),
    ...approvalErrors(crd, old),
    ...preserveErrors(crd, old),
  ];
}

function immutableErrors(crd: CustomResourceDefinition, old: CustomResourceDefinition): FieldError[] {
  const { spec } = crd;
  const fields: (readonly [path: string, next: string, before: string])[] = [
    ['spec.group', spec.group, old.spec.group],
    ['spec.names.plural', spec.names.plural, old.spec.names.plural],
  ];
  if (isEstablished(old)) {
    fields.unshift(
      ['spec.scope', spec.scope, old.spec.scope],
      ['spec.names.kind', spec.names.kind, old.spec.names.kind],
    );
  }
  return fields.flatMap(([path, next, before]) =>
    next === before ? [] : [invalidValue(path, next, 'field is immutable')],
  );
}

function preserveErrors({ spec }: CustomResourceDefinition, old: CustomResourceDefinition | undefined): FieldError[] {
  if (spec.preserveUnknownFields !== true || old?.spec.preserveUnknownFields === true) return [];
  const why = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [invalidValue('spec.preserveUnknownFields', true, why)];
}

/** Versions in which objects may be stored cannot be removed. */
function storedVersionErrors({ spec, status }: CustomResourceDefinition): FieldError[] {
  const path = 'status.storedVersions';
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) return [invalidValue(path, null, 'must have at least one stored version')];
  const versions = spec.versions ?? [];
  return [
    ...versions.flatMap(({ name, storage }) =>
      storage && !stored.includes(name) ? [invalidValue(path, stored, `must have the storage version ${name}`)] : [],
    ),
    ...stored.flatMap((name, index) =>
      versions.some((version) => version.name === name)
        ? []
        : [
            invalidValue(
              `${path}[${index}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ];
}

function specErrors(spec: Spec): FieldError[] {
  const versions = spec.versions ?? [];
  const invalidVersions = (why: string): FieldError => invalidValue('spec.versions', versions.map(inGoOrder), why);
  return [
    ...groupErrors(spec.group),
    ...scopeErrors(spec.scope),
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema === undefined ? [required(`spec.versions[${index}].schema.openAPIV3Schema`)] : [],
    ),
    ...versions.flatMap((version, index) => nameAndDeprecationErrors(version, `spec.versions[${index}]`)),
    ...(new Set(versions.map(({ name }) => name)).size < versions.length
      ? [invalidVersions('must contain unique version names')]
      : []),
    ...(versions.filter(({ storage }) => storage).length === 1
      ? []
      : [invalidVersions('must have exactly one version marked as storage version')]),
    ...requestedNameErrors(spec.names, 'spec.names'),
    ...versionFieldErrors(versions),
    ...(spec.conversion === undefined ? [] : conversionErrors(spec.conversion, 'spec.conversion')),
  ];
}

/** A version as Kubernetes prints it, without its schema, which is long. */
const inGoOrder = ({ name, served, storage, deprecated = false, deprecationWarning }: CrdVersion): object => ({
  Name: name,
  Served: served,
  Storage: storage,
  Deprecated: deprecated,
  DeprecationWarning: deprecationWarning ?? null,
  Schema: null,
  Subresources: null,
  AdditionalPrinterColumns: null,
  SelectableFields: null,
});

function groupErrors(group: string): FieldError[] {
  if (group === '') return [required('spec.group')];
  const errors = dnsSubdomainErrors(group);
  if (errors.length > 0) return [invalidValue('spec.group', group, errors.join(','))];
  return group.includes('.') ? [] : [invalidValue('spec.group', group, 'should be a domain with at least one dot')];
}

const scopes: readonly string[] = ['Cluster', 'Namespaced'];

function scopeErrors(scope: string): FieldError[] {
  if (scope === '') return [required('spec.scope')];
  return scopes.includes(scope) ? [] : [notSupported('spec.scope', scope, scopes)];
}

function nameAndDeprecationErrors(version: CrdVersion, path: string): FieldError[] {
  const errors = dns1035LabelErrors(version.name);
  return [
    ...(errors.length === 0 ? [] : [invalidValue(`${path}.name`, version.name, errors.join(','))]),
    ...deprecationErrors(version, path),
  ];
}

/**
 * The errors of fields that each version has. As in Kubernetes, a field that is the same in all versions is checked once,
 * at the path of its internal version: `spec.validation` for schemas.
 */
function versionFieldErrors(versions: readonly CrdVersion[]): FieldError[] {
  const perField = <Name extends keyof CrdVersion>(
    name: Name,
    errors: (value: NonNullable<CrdVersion[Name]>, path: string, version: CrdVersion) => FieldError[],
    sharedPath: string = `spec.${name}`,
  ): FieldError[] => {
    const [first] = versions;
    const value = first?.[name];
    if (first !== undefined && value !== undefined && versions.every((version) => equalJson(version[name], value))) {
      return errors(value as NonNullable<CrdVersion[Name]>, sharedPath, first); // it is not undefined
    }
    return versions.flatMap((version, index) => {
      const own = version[name];
      const path = `spec.versions[${index}].${name}`;
      return own === undefined ? [] : errors(own as NonNullable<CrdVersion[Name]>, path, version);
    });
  };
  const hasStatus = (version: CrdVersion): boolean => version.subresources?.status !== undefined;
  return [
    ...perField(
      'schema',
      ({ openAPIV3Schema: schema }, path, version) =>
        schema === undefined
          ? []
          : schemaFieldErrors(
              schema,
              `${path}.openAPIV3Schema`,
              path === 'spec.validation' ? versions.some(hasStatus) : hasStatus(version),
            ),
      'spec.validation',
    ),
    ...perField('subresources', subresourceErrors),
    ...perField('additionalPrinterColumns', (columns, path) =>
      columns.flatMap((column, index) => columnErrors(column, `${path}[${index}]`)),
    ),
    ...perField('selectableFields', (fields, path, version) =>
      selectableFieldErrors(fields, version.schema?.openAPIV3Schema, path),
    ),
  ];
}
