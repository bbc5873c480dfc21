// The environment of a container.
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { expand } from './expand.ts';
import type { PodFacts } from './fields.ts';
import { podField, resourceField } from './fields.ts';
import { serviceVariables } from './service-links.ts';

/** The objects that a Pod refers to; undefined: it does not exist. */
export interface ReferencedObjects {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly facts: PodFacts;
  readonly services: readonly Service[];
  readonly objects: ReferencedObjects;
  /** Volume → its directory on this machine. */
  readonly volumes: ReadonlyMap<string, string>;
}

/** The environment with which a container cannot start: reason `CreateContainerConfigError`. */
export class ConfigError extends Error {}

export interface Environment {
  readonly variables: Readonly<Record<string, string>>;
  /** The command and its arguments, expanded. */
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** Computes the environment. Throws a ConfigError if something that it refers to is missing. */
export function environmentOf(input: EnvironmentInput): Environment {
  const { pod, container, services, facts } = input;
  const links = serviceVariables(services, pod.metadata.namespace ?? '', pod.spec.enableServiceLinks ?? true);
  const result = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    for (const [key, value] of valuesFrom(source, input)) result.set(`${source.prefix ?? ''}${key}`, value);
  }
  const valueOf = (name: string): string | undefined => result.get(name) ?? links.get(name);
  for (const variable of container.env ?? []) {
    const value =
      variable.valueFrom === undefined ? expand(variable.value ?? '', valueOf) : valueFrom(variable.valueFrom, input);
    if (value !== undefined) result.set(variable.name, value);
  }
  const fixed: readonly (readonly [string, string])[] = [
    ['POD_IP', facts.podIps[0] ?? ''],
    ['POD_NAME', pod.metadata.name ?? ''],
    ['POD_NAMESPACE', pod.metadata.namespace ?? ''],
    ['NODE_NAME', facts.nodeName],
    ['HOSTNAME', pod.spec.hostname ?? pod.metadata.name ?? ''],
    ...Array.from(
      input.volumes,
      ([name, path]) => [`VOLUME_${name.toUpperCase().replaceAll('-', '_')}`, path] as const,
    ),
  ];
  const known = (name: string): string | undefined => valueOf(name) ?? new Map(fixed).get(name);
  return {
    variables: Object.fromEntries([...links, ...fixed, ...result]),
    command: (container.command ?? []).map((word) => expand(word, known)),
    args: (container.args ?? []).map((word) => expand(word, known)),
  };
}

type EnvFrom = NonNullable<Container['envFrom']>[number];
type ValueFrom = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

function valuesFrom(source: EnvFrom, input: EnvironmentInput): readonly (readonly [string, string])[] {
  const { configMapRef, secretRef } = source;
  if (configMapRef !== undefined) {
    const { name = '' } = configMapRef;
    const found = input.objects.configMap(name);
    if (found === undefined && configMapRef.optional !== true) throw new ConfigError(missing('configmap', name));
    return Object.entries(found?.data ?? {});
  }
  if (secretRef === undefined) return [];
  const { name = '' } = secretRef;
  const found = input.objects.secret(name);
  if (found === undefined && secretRef.optional !== true) throw new ConfigError(missing('secret', name));
  return Object.entries(found?.data ?? {}).map(([key, value]) => [key, textOf(String(value))]);
}

/** The value of a variable; undefined: it is optional and missing. */
function valueFrom(source: ValueFrom, input: EnvironmentInput): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  const { pod, container, facts, objects } = input;
  const namespace = pod.metadata.namespace ?? '';
  if (fieldRef !== undefined) {
    const value = podField(fieldRef.fieldPath, pod, facts);
    if (value === undefined) throw new ConfigError(`unsupported fieldPath: ${fieldRef.fieldPath}`);
    return value;
  }
  if (resourceFieldRef !== undefined) {
    const { resource, divisor, containerName = '' } = resourceFieldRef;
    const of = containerName === '' ? container : namedContainer(pod, containerName);
    const value = resourceField(resource, { container: of, facts, divisor: String(divisor ?? '1') });
    if (value === undefined) throw new ConfigError(`unsupported container resource: ${resource}`);
    return value;
  }
  if (configMapKeyRef !== undefined) {
    const { name = '', key, optional } = configMapKeyRef;
    const found = objects.configMap(name);
    const value = found?.data?.[key];
    if (value !== undefined || optional === true) return value;
    throw new ConfigError(
      found === undefined ? missing('configmap', name) : `couldn't find key ${key} in ConfigMap ${namespace}/${name}`,
    );
  }
  if (secretKeyRef === undefined) throw new ConfigError('valueFrom has a source that this machine does not support');
  const { name = '', key, optional } = secretKeyRef;
  const found = objects.secret(name);
  const value = found?.data?.[key];
  if (value !== undefined) return textOf(String(value));
  if (optional === true) return undefined;
  throw new ConfigError(
    found === undefined ? missing('secret', name) : `couldn't find key ${key} in Secret ${namespace}/${name}`,
  );
}

/** A container by its name. Throws a ConfigError if there is none. */
export function namedContainer({ spec }: Pod, name: string): Container {
  const found = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].find((each) => each.name === name);
  if (found === undefined) throw new ConfigError(`container ${name} not found`);
  return found;
}

const missing = (what: 'configmap' | 'secret', name: string): string => `${what} "${name}" not found`;

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
