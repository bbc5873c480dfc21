// Validates references to fields and resources of a Pod, in environment variables and volumes, as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { parseQuantity, printQuantity } from '../../../quantity.ts';
import type { Infer } from '../../../schema/infer.ts';
import type { objectFieldSelector, resourceFieldSelector } from '../references.ts';

/** Fields that a reference of any kind may name, before the place of the reference is considered. */
const known: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.host',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.phase',
  'status.podIP',
  'status.podIPs',
]);

/** Validation errors of a reference to a field; `allowed` are those without a key, in the order of messages. */
export function fieldErrors(
  { apiVersion = '', fieldPath }: Infer<typeof objectFieldSelector>,
  path: string,
  allowed: readonly string[],
): readonly FieldError[] {
  if (apiVersion === '') return [required(`${path}.apiVersion`)];
  if (fieldPath === '') return [required(`${path}.fieldPath`)];
  const unknown = (why: string): readonly FieldError[] => [
    invalidValue(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`),
  ];
  if (apiVersion !== 'v1') return unknown(`unsupported pod version: ${apiVersion}`);
  const [, map, key = ''] = /^([^[]+)\['(.*)'\]$/s.exec(fieldPath) ?? [];
  if (map !== undefined) {
    if (map !== 'metadata.annotations' && map !== 'metadata.labels')
      return unknown(`field label does not support subscript: ${fieldPath}`);
    const name = map === 'metadata.annotations' ? key.toLowerCase() : key;
    return invalidAll(path, name, qualifiedNameErrors(name));
  }
  if (!known.has(fieldPath)) return unknown(`field label not supported: ${fieldPath}`);
  const field = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  return allowed.includes(field) ? [] : [notSupported(`${path}.fieldPath`, field, allowed)];
}

const resources = ['limits', 'requests'].flatMap((which) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${which}.${name}`),
);
const hugePages = /^(?:limits|requests)\.hugepages-/;
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Validation errors of a reference to a resource of a container; in volumes it must name the container. */
export function resourceFieldErrors(
  { containerName = '', resource, divisor }: Infer<typeof resourceFieldSelector>,
  path: string,
  isInVolume = false,
): readonly FieldError[] {
  return [
    ...(isInVolume && containerName === ''
      ? [required(`${path}.containerName`)]
      : resourceErrors(resource, `${path}.resource`)),
    ...divisorErrors(resource, printQuantity(parseQuantity(String(divisor))), `${path}.divisor`),
  ];
}

function resourceErrors(resource: string, path: string): readonly FieldError[] {
  if (resource === '') return [required(path)];
  return resources.includes(resource) || hugePages.test(resource) ? [] : [notSupported(path, resource, resources)];
}

function divisorErrors(resource: string, divisor: string, path: string): readonly FieldError[] {
  if (divisor === '0') return [];
  const rule = divisorRule(resource);
  if (rule === undefined || rule.divisors.includes(divisor)) return [];
  const detail = `only divisor's values ${rule.words} are supported with the ${rule.name} resource`;
  return [invalidValue(path, resource, detail)];
}

interface DivisorRule {
  readonly name: string;
  readonly divisors: readonly string[];
  readonly words: string;
}

function divisorRule(resource: string): DivisorRule | undefined {
  if (resource.endsWith('.cpu')) return { name: 'cpu', divisors: ['1m', '1'], words: '1m and 1' };
  const name = nameOfBytes(resource);
  return name === undefined ? undefined : { name, divisors: byteDivisors, words: byteDivisors.join(', ') };
}

function nameOfBytes(resource: string): string | undefined {
  if (hugePages.test(resource)) return 'hugepages';
  if (!resources.includes(resource)) return undefined;
  return resource.endsWith('.memory') ? 'memory' : 'local ephemeral storage';
}
