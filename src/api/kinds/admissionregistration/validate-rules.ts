import type { FieldError } from '../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../field-errors.ts';
import type { WebhookRule } from './webhook-schema.ts';

const operations: readonly string[] = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes: readonly string[] = ['*', 'Cluster', 'Namespaced'];

/** Validation errors of a rule of a webhook or policy. */
export function ruleErrors(path: string, rule: WebhookRule): FieldError[] {
  const { apiVersions = [], scope } = rule;
  return [
    ...wildcardErrors(`${path}.operations`, rule.operations, 'operations'),
    ...(rule.operations ?? []).flatMap((operation, index) =>
      operations.includes(operation) ? [] : [notSupported(`${path}.operations[${index}]`, operation, operations)],
    ),
    ...wildcardErrors(`${path}.apiGroups`, rule.apiGroups, 'API groups'),
    ...wildcardErrors(`${path}.apiVersions`, apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, index) => (version === '' ? [required(`${path}.apiVersions[${index}]`)] : [])),
    ...resourceErrors(`${path}.resources`, rule.resources ?? []),
    ...(scope === undefined || scopes.includes(scope) ? [] : [notSupported(`${path}.scope`, scope, scopes)]),
  ];
}

/** A list must not be empty, and `*` must be its only item. */
function wildcardErrors(path: string, words: readonly string[] = [], what: string): FieldError[] {
  if (words.length === 0) return [required(path)];
  if (words.length === 1 || !words.includes('*')) return [];
  return [invalidValue(path, words, `if '*' is present, must not specify other ${what}`)];
}

// A star can replace the resource, the subresource or both. An item must not be covered by an earlier item.
function resourceErrors(path: string, resources: readonly string[]): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const anySubresource = new Set<string>();
  const anyResource = new Set<string>();
  const errors = resources.flatMap((resource, index) => {
    const at = `${path}[${index}]`;
    if (resource === '') return [required(at)];
    const slash = resource.indexOf('/');
    if (slash < 0) return [];
    const [name, sub] = [resource.slice(0, slash), resource.slice(slash + 1)];
    const covered = [...(anySubresource.has(name) ? [`${name}/*`] : []), ...(anyResource.has(sub) ? [`*/${sub}`] : [])];
    if (sub === '*') anySubresource.add(name);
    if (name === '*') anyResource.add(sub);
    return covered.map((by) => invalidValue(at, resource, `if '${by}' is present, must not specify ${resource}`));
  });
  const whole = (why: string): FieldError => invalidValue(path, resources, why);
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(whole("if '*/*' is present, must not specify other resources"));
  }
  // As in Kubernetes, where the last resource without a subresource decides.
  const last = resources.findLast((resource) => resource !== '' && !resource.includes('/'));
  if (resources.includes('*') && last !== undefined && last !== '*') {
    errors.push(whole("if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}
