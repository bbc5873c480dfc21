import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, portNameErrors, portNumberErrors } from '../../../names.ts';
import type { Container, PodSpec } from './schema.ts';
import { environmentErrors } from './validate-environment.ts';
import { deviceErrors, mountErrors } from './validate-mounts.ts';
import { resourceErrors } from './validate-resources.ts';
import { containerSecurityErrors } from './validate-security.ts';

/** What the containers of a Pod share. */
export interface PodFacts {
  /** The valid volumes by name. */
  readonly volumes: ReadonlyMap<string, NonNullable<PodSpec['volumes']>[number]>;
  readonly restartPolicy: string | undefined;
  readonly hasHostUsers: boolean;
}

/** Validation errors of a container of any kind at `path`. */
export function containerErrors(container: Container, path: string, pod: PodFacts): FieldError[] {
  const { name, image, imagePullPolicy: policy = 'Always', securityContext } = container;
  const messages: string = container.terminationMessagePolicy ?? 'File';
  return [
    ...(name === '' ? [required(`${path}.name`)] : labelled(name, `${path}.name`)),
    ...(image ? [] : [required(`${path}.image`)]),
    ...(messagePolicies.includes(messages)
      ? []
      : [notSupported(`${path}.terminationMessagePolicy`, messages, messagePolicies)]),
    ...portErrors(container.ports ?? [], `${path}.ports`),
    ...environmentErrors(container, path),
    ...mountErrors(container, path, pod.volumes),
    ...deviceErrors(container, `${path}.volumeDevices`, pod.volumes),
    ...(pullPolicies.includes(policy) ? [] : [notSupported(`${path}.imagePullPolicy`, policy, pullPolicies)]),
    ...resourceErrors(container.resources, `${path}.resources`),
    ...resizeErrors(container.resizePolicy ?? [], `${path}.resizePolicy`, pod.restartPolicy),
    ...(securityContext === undefined
      ? []
      : containerSecurityErrors(securityContext, `${path}.securityContext`, pod.hasHostUsers)),
  ];
}

const messagePolicies: readonly string[] = ['File', 'FallbackToLogsOnError'];
const resizable: readonly string[] = ['cpu', 'memory'];
const resizePolicies: readonly string[] = ['NotRequired', 'RestartContainer'];

function resizeErrors(
  policies: NonNullable<Container['resizePolicy']>,
  path: string,
  restartPolicy: string | undefined,
): readonly FieldError[] {
  const seen = new Set<string>();
  return policies.flatMap(({ resourceName, restartPolicy: policy }, index) => {
    const isRepeated = seen.has(resourceName);
    seen.add(resourceName);
    return [
      ...(isRepeated ? [duplicate(`${path}[${index}]`, resourceName)] : []),
      ...wordErrors(resourceName, path, resizable),
      ...wordErrors(policy, path, resizePolicies),
      ...(restartPolicy === 'Never' && policy !== 'NotRequired'
        ? [invalidValue(path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'")]
        : []),
    ];
  });
}

/** Errors of a required field that must be one of `words`. */
export function wordErrors(word: string | undefined, path: string, words: readonly string[]): readonly FieldError[] {
  if (word === undefined || word === '') return [required(path)];
  return words.includes(word) ? [] : [notSupported(path, word, words)];
}

/** Errors of the restart policy of a container and of its rules. */
export function restartErrors(
  { restartPolicy: policy, restartPolicyRules: rules = [] }: Container,
  path: string,
): readonly FieldError[] {
  const at = `${path}.restartPolicy`;
  return [
    ...(policy === undefined && rules.length > 0
      ? [required(at, 'must specify restartPolicy when restart rules are used')]
      : []),
    ...(policy === undefined || restartPolicies.includes(policy) ? [] : [notSupported(at, policy, restartPolicies)]),
    ...rules.flatMap(({ action = '', exitCodes }, index) => {
      const rule = `${path}.restartPolicyRules[${index}]`;
      const { operator = '' } = exitCodes ?? {};
      return [
        ...(action === 'Restart' ? [] : [notSupported(`${rule}.action`, action, ['Restart'])]),
        ...(exitCodes === undefined ? [required(`${rule}.exitCodes`, 'must be specified')] : []),
        ...(exitCodes === undefined || operators.includes(operator)
          ? []
          : [notSupported(`${rule}.exitCodes.operator`, operator, operators)]),
      ];
    }),
  ];
}

/** Errors of the same fields of an init container; sidecars have no rules. */
export function initRestartErrors(container: Container, path: string): readonly FieldError[] {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy === undefined)
    return rules.length === 0
      ? []
      : [required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used')];
  if (policy !== 'Always') return restartErrors(container, path);
  const detail = 'restartPolicyRules are not allowed for init containers with restart policy Always';
  return rules.length === 0 ? [] : [forbiddenField(`${path}.restartPolicyRules`, detail)];
}

const restartPolicies: readonly string[] = ['Always', 'Never', 'OnFailure'];
const operators: readonly string[] = ['In', 'NotIn'];

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
