// The admission plugin DenyServiceExternalIPs.
import { forbidden } from '../../api/errors.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';

/** Throws a 403 for a Service with a new external IP, if the plugin is enabled. */
export function denyExternalIps(
  { plugins }: ServerContext,
  resource: Resource,
  { subresource }: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): void {
  if (subresource !== '' || !plugins.has('DenyServiceExternalIPs')) return;
  const before = new Set(old === undefined ? [] : externalIpsOf(old));
  if (externalIpsOf(next).every((ip) => before.has(ip))) return;
  throw forbidden(subjectOf(resource, next.metadata.name ?? ''), 'Use of external IPs is denied by admission control');
}

// Only called with Services.
const externalIpsOf = (object: ApiObject): readonly string[] => (object as Service).spec.externalIPs ?? [];
