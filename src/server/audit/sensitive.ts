import type { Kind } from '../../api/kind.ts';
import { kinds } from '../../api/kinds/registry.ts';
import type { RequestInfo } from '../request.ts';

const pathOf = ({ group, plural }: Kind): string => `${group}/${plural}`;

/** A kind, and the kinds that its subresources take. */
const kindsAccepted = (kind: Kind): readonly Kind[] => [kind, ...kind.subresources.flatMap(({ body }) => body ?? [])];

const sensitive = kinds.flatMap(kindsAccepted).filter((kind) => kind.sensitive);

/** `group/resource` in every version, with a subresource where only that takes credentials. */
const sensitivePaths: ReadonlySet<string> = new Set([
  ...sensitive.map(pathOf),
  ...kinds.flatMap((kind) =>
    kind.subresources.flatMap(({ name, body }) => (body?.sensitive === true ? [`${pathOf(kind)}/${name}`] : [])),
  ),
]);

/** Names of kinds that contain credentials. A `List` can contain objects of every kind. */
const sensitiveNames: ReadonlySet<string> = new Set([
  'List',
  ...sensitive.flatMap(({ kind }) => [kind, `${kind}List`]),
]);

/** Whether the bodies and errors of a request can contain credentials, and so must not be logged. */
export function isSensitive(info: RequestInfo): boolean {
  if (!info.isResource) return false;
  const path = `${info.group}/${info.resource}`;
  return sensitivePaths.has(path) || sensitivePaths.has(`${path}/${info.subresource}`);
}

/** Whether a body contains credentials by its own `kind`: a Secret sent to the wrong path is still a Secret. */
export function isSensitiveObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const kind = 'kind' in value ? value.kind : undefined;
  return typeof kind === 'string' && sensitiveNames.has(kind);
}
