import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { dns1035LabelErrors, dnsSubdomainErrors, pathSegmentErrors, portNumberErrors } from '../../../names.ts';
import { apiServiceName, availabilityOf, localAvailability, withAvailability } from './facts.ts';
import type { ApiService } from './schema.ts';
import { apiService } from './schema.ts';

/** APIService of apiregistration.k8s.io/v1. */
export const apiServiceKind: Kind<ApiService> = defineKind<ApiService>({
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  plural: 'apiservices',
  categories: ['api-extensions'],
  namespaced: false,
  schema: apiService,
  hasStatus: true,
  unconditionalUpdate: false,
  resets: { status: [['spec'], ['metadata']] },
  columns: [
    nameColumn,
    column('Service', 'The reference to the service that hosts this API endpoint.', ({ spec: { service } }) =>
      service === undefined ? 'Local' : `${service.namespace ?? ''}/${service.name ?? ''}`,
    ),
    column('Available', 'Whether this service is available.', availabilityText),
    ageColumn,
  ],
  applyDefaults: (object) =>
    object.spec.service === undefined
      ? object
      : {
          ...object,
          spec: { ...object.spec, service: { ...object.spec.service, port: object.spec.service.port ?? 443 } },
        },
  prepareForCreate(object, { now = '' }) {
    const blank = { ...object, status: {} };
    return object.spec.service === undefined ? withAvailability(blank, localAvailability, now) : blank;
  },
  nameErrors: pathSegmentErrors,
  validateCreate: specErrors,
  validateUpdate: specErrors,
  validateStatus: ({ status }) =>
    (status.conditions ?? []).flatMap((condition, index) =>
      words.includes(condition.status)
        ? []
        : [notSupported(`status.conditions[${index}].status`, condition.status, words)],
    ),
});

const words = ['True', 'False', 'Unknown'];

function availabilityText(object: ApiService): string {
  const { status = 'Unknown', reason = '' } = availabilityOf(object) ?? {};
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}

function specErrors({ metadata, spec }: ApiService): readonly FieldError[] {
  const { group = '', version = '', groupPriorityMinimum, versionPriority } = spec;
  const name = apiServiceName({ group, version });
  return [
    ...(metadata.name === name
      ? []
      : [
          invalidValue(
            'metadata.name',
            metadata.name ?? '',
            `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}`,
          ),
        ]),
    ...(group === '' && version !== 'v1'
      ? [required('spec.group', 'only v1 may have an empty group and it better be legacy kube')]
      : []),
    ...(group === '' ? [] : invalidAll('spec.group', group, dnsSubdomainErrors(group))),
    ...invalidAll('spec.version', version, dns1035LabelErrors(version)),
    ...rangeErrors('spec.groupPriorityMinimum', groupPriorityMinimum, 20_000),
    ...rangeErrors('spec.versionPriority', versionPriority, 1000),
    ...(spec.service === undefined ? localErrors(spec) : remoteErrors(spec, spec.service)),
  ];
}

const rangeErrors = (path: string, value: number, most: number): readonly FieldError[] =>
  value > 0 && value <= most ? [] : [invalidValue(path, value, `must be positive and less than ${most}`)];

function localErrors({ caBundle = '', insecureSkipTLSVerify = false }: ApiService['spec']): readonly FieldError[] {
  const bytes = Buffer.byteLength(caBundle, 'base64');
  return [
    ...(bytes === 0
      ? []
      : [invalidValue('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle')]),
    ...(insecureSkipTLSVerify
      ? [invalidValue('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify')]
      : []),
  ];
}

function remoteErrors(
  { caBundle = '', insecureSkipTLSVerify = false }: ApiService['spec'],
  { namespace = '', name = '', port = 0 }: NonNullable<ApiService['spec']['service']>,
): readonly FieldError[] {
  const portErrors = portNumberErrors(port);
  return [
    ...(namespace === '' ? [required('spec.service.namespace')] : []),
    ...(name === '' ? [required('spec.service.name')] : []),
    ...(portErrors.length === 0
      ? []
      : [invalidValue('spec.service.port', port, `port is not valid: ${portErrors.join(', ')}`)]),
    ...(insecureSkipTLSVerify && caBundle !== ''
      ? [invalidValue('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present')]
      : []),
  ];
}
