import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, portNameErrors, portNumberErrors } from '../../../names.ts';
import type { Container } from './schema.ts';
import { resourceErrors } from './validate-resources.ts';

/** Validation errors of a container at `path`; `volumes` are the names of the Pod's volumes. */
export function containerErrors(container: Container, path: string, volumes: ReadonlySet<string>): FieldError[] {
  const { name, image, imagePullPolicy: policy = 'Always' } = container;
  return [
    ...(name === '' ? [required(`${path}.name`)] : labelled(name, `${path}.name`)),
    ...(image ? [] : [required(`${path}.image`)]),
    ...(image === undefined || image.trim() === image
      ? []
      : [invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace')]),
    ...portErrors(container.ports ?? [], `${path}.ports`),
    ...variableErrors(container.env ?? [], `${path}.env`),
    ...mountErrors(container.volumeMounts ?? [], `${path}.volumeMounts`, volumes),
    ...(pullPolicies.includes(policy) ? [] : [notSupported(`${path}.imagePullPolicy`, policy, pullPolicies)]),
    ...resourceErrors(container.resources, `${path}.resources`),
    ...probeErrors(container.livenessProbe, `${path}.livenessProbe`, true),
    ...probeErrors(container.readinessProbe, `${path}.readinessProbe`, false),
    ...probeErrors(container.startupProbe, `${path}.startupProbe`, true),
  ];
}

/** Errors of fields that an init container cannot have, unless it is a sidecar. */
export function initContainerErrors(container: Container, path: string): readonly FieldError[] {
  if (container.restartPolicy === 'Always') return [];
  return (['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    .filter((field) => container[field] !== undefined)
    .map((field) =>
      forbiddenField(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
    );
}

const pullPolicies: readonly string[] = ['Always', 'IfNotPresent', 'Never'];
const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP'];

const labelled = (name: string, path: string): readonly FieldError[] => invalidAll(path, name, dnsLabelErrors(name));

function portErrors(ports: NonNullable<Container['ports']>, path: string): readonly FieldError[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort, protocol = 'TCP' }, index) => {
    const at = `${path}[${index}]`;
    const errors: FieldError[] = [];
    if (name !== undefined) {
      const problems = portNameErrors(name);
      errors.push(...problems.map((problem) => invalidValue(`${at}.name`, name, problem)));
      if (problems.length === 0 && names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    if (containerPort === 0) errors.push(required(`${at}.containerPort`));
    else errors.push(...numberErrors(`${at}.containerPort`, containerPort));
    if (hostPort !== undefined) errors.push(...numberErrors(`${at}.hostPort`, hostPort));
    if (!protocols.includes(protocol)) errors.push(notSupported(`${at}.protocol`, protocol, protocols));
    return errors;
  });
}

const numberErrors = (path: string, port: number): readonly FieldError[] =>
  invalidAll(path, port, portNumberErrors(port));

const printable = /^[\x20-\x3c\x3e-\x7e]+$/;
const badVariable = "a valid environment variable name must consist only of printable ASCII characters other than '='";

function variableErrors(variables: NonNullable<Container['env']>, path: string): readonly FieldError[] {
  return variables.flatMap(({ name, value, valueFrom }, index) => {
    const at = `${path}[${index}]`;
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    else if (!printable.test(name)) errors.push(invalidValue(`${at}.name`, name, badVariable));
    if (valueFrom !== undefined && value !== undefined) {
      errors.push(invalidValue(`${at}.valueFrom`, '', 'may not be specified when `value` is not empty'));
    }
    return errors;
  });
}

const notFound = (path: string, name: string): FieldError => ({
  path,
  reason: 'FieldValueNotFound',
  body: `Not found: ${JSON.stringify(name)}`,
});

function mountErrors(
  mounts: NonNullable<Container['volumeMounts']>,
  path: string,
  volumes: ReadonlySet<string>,
): readonly FieldError[] {
  const paths = new Set<string>();
  return mounts.flatMap(({ name, mountPath }, index) => {
    const at = `${path}[${index}]`;
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    if (!volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    if (mountPath === '') errors.push(required(`${at}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalidValue(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    return errors;
  });
}

function probeErrors(probe: Container['livenessProbe'], path: string, needsOneSuccess: boolean): readonly FieldError[] {
  if (probe === undefined) return [];
  const { exec, httpGet, tcpSocket, grpc, successThreshold = 1 } = probe;
  const handlers = Object.entries({ exec, httpGet, tcpSocket, grpc }).filter(([, action]) => action !== undefined);
  const errors: FieldError[] = handlers
    .slice(1)
    .map(([handler]) => forbiddenField(`${path}.${handler}`, 'may not specify more than 1 handler type'));
  if (handlers.length === 0) errors.push(required(path, 'must specify a handler type'));
  for (const field of probeNumbers) {
    const value = probe[field] ?? 0;
    if (value < 0) errors.push(invalidValue(`${path}.${field}`, value, 'must be greater than or equal to 0'));
  }
  if (needsOneSuccess && successThreshold !== 1) {
    errors.push(invalidValue(`${path}.successThreshold`, successThreshold, 'must be 1'));
  }
  return errors;
}

const probeNumbers = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;
