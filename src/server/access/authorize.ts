import { failure, forbidden } from '../../api/errors.ts';
import type { User } from '../reply.ts';
import type { RequestInfo } from '../request.ts';

/** What anyone may read. */
const publicPaths = /^\/(?:healthz|livez|readyz|version)(?:\/.*)?$/;

/**
 * Throws a 403 for what the user may not do: without credentials there is only health and version. Whoever has
 * credentials of this server may do everything.
 */
export function authorize(user: User, info: RequestInfo): void {
  if (user.groups.includes('system:authenticated')) return;
  if (!info.isResource) {
    if (info.verb === 'get' && publicPaths.test(info.path)) return;
    throw failure({
      code: 403,
      reason: 'Forbidden',
      message: `forbidden: User "${user.name}" cannot ${info.verb} path ${JSON.stringify(escaped(info.path))}`,
      details: {},
    });
  }
  const { group, resource, subresource, namespace, name, verb } = info;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  throw forbidden(
    { group, resource, ...(name === '' ? {} : { name: escaped(name) }) },
    `User "${user.name}" cannot ${verb} resource "${escaped(what)}" in API group "${group}" ${where}`,
  );
}

/** What a client sent must not come back as markup. */
const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (character) => (character === '&' ? '&amp;' : character === '<' ? '&lt;' : '&gt;'));
