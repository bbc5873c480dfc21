import type { Kind, WriteContext } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { decode } from '../../schema/decode.ts';

/** A context without gates. */
export const plainContext: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };

/** An object of the kind, decoded, defaulted and prepared as on creation. */
export const created = <T extends ApiObject>(kind: Kind<T>, content: object): T => {
  const named = { metadata: { name: 'a', ...(kind.namespaced ? { namespace: 'shop' } : {}) }, ...content };
  return kind.prepareForCreate(kind.applyDefaults(decode<T>(kind.schema, named).object), plainContext);
};

/** The validation errors of a new object, each as `path: body`. */
export const createErrors = <T extends ApiObject>(kind: Kind<T>, content: object): readonly string[] =>
  kind.validateCreate(created(kind, content), plainContext).map(({ path, body }) => `${path}: ${body}`);

/** The validation errors of a change from `old` to `next`. */
export const updateErrors = <T extends ApiObject>(kind: Kind<T>, old: object, next: object): readonly string[] =>
  kind
    .validateUpdate(created(kind, next), created(kind, old), plainContext)
    .map(({ path, body }) => `${path}: ${body}`);

/** The cells of the object's row. */
export const cells = <T extends ApiObject>(kind: Kind<T>, content: object, now = 0): readonly unknown[] => {
  const object = kind.applyDefaults(decode<T>(kind.schema, { metadata: { name: 'a' }, ...content }).object);
  return kind.columns.map((column) => column.cell(object, now));
};
