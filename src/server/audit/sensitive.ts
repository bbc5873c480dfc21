import type { RequestInfo } from '../request.ts';

/** Resources whose objects are secrets or contain tokens: `group/resource`, with a subresource where only that does. */
const sensitiveResources: ReadonlySet<string> = new Set([
  '/secrets',
  '/serviceaccounts/token',
  'authentication.k8s.io/tokenreviews',
  'authentication.k8s.io/tokenrequests',
]);

/** Kinds that must not be kept wherever they are sent: a Secret posted to the wrong path is still one. */
const sensitiveKinds: ReadonlySet<string> = new Set(['Secret', 'SecretList', 'TokenReview', 'TokenRequest', 'List']);

/** Whether the body, and what an error says of it, must not be kept. */
export function isSensitive(info: RequestInfo): boolean {
  if (!info.isResource) return false;
  const { group, resource, subresource } = info;
  const path = `${group}/${resource}`;
  return sensitiveResources.has(path) || sensitiveResources.has(`${path}/${subresource}`);
}

/** Whether an object that was sent says itself that it must not be kept. */
export function isSensitiveObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const kind = 'kind' in value ? value.kind : undefined;
  return typeof kind === 'string' && sensitiveKinds.has(kind);
}
