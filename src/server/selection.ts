import { badRequest } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import type { FieldRequirement } from '../api/selectors/fields.ts';
import { parseFieldSelector } from '../api/selectors/fields.ts';
import type { LabelSelector } from '../api/selectors/labels.ts';
import { matchesLabels, parseLabelSelector } from '../api/selectors/labels.ts';
import type { Item } from './cache/item.ts';
import { objectInVersion } from './cache/item.ts';

/** The objects of a resource that a request selects. */
export interface Selection {
  /** Undefined: all of them. */
  readonly matches: ((item: Item) => boolean) | undefined;
  /** The only name that can match, if the selector requires one. */
  readonly name: string | undefined;
  /** The kind to whose version a webhook must have converted the items, if `matches` reads their fields. */
  readonly inVersion?: Kind;
}

/** Parses `labelSelector` and `fieldSelector`; throws a 400 for an invalid selector or an unknown field. */
export function parseSelection(kind: Kind, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '');
  const readers = fields.map((field) => fieldMatcher(kind, field));
  const name = fields.find(({ path, equal, value }) => path === 'metadata.name' && equal && value !== '')?.value;
  if (labels.length === 0 && fields.length === 0) return { matches: undefined, name };
  if (kind.webhookVersions === undefined) return { matches: (item) => selects(item, labels, readers), name };
  const readsObject = fields.some(({ path }) => !path.startsWith('metadata.'));
  return {
    // A webhook may convert labels too.
    matches: (item) => selects(item.inVersion(kind) ?? item, labels, readers),
    name,
    ...(readsObject ? { inVersion: kind } : {}),
  };
}

const selects = (item: Item, labels: LabelSelector, readers: readonly ((item: Item) => boolean)[]): boolean =>
  (labels.length === 0 || matchesLabels(labels, item.labels)) && readers.every((matches) => matches(item));

function fieldMatcher(kind: Kind, { path, equal, value }: FieldRequirement): (item: Item) => boolean {
  const read = fieldAccessor(kind, path);
  return (item) => (read(item) === value) === equal;
}

function fieldAccessor(kind: Kind, path: string): (item: Item) => string {
  if (path === 'metadata.name') return (item) => item.object.metadata.name ?? '';
  if (path === 'metadata.namespace' && (kind.namespaced || selectsMetadataOnly(kind)))
    return (item) => item.object.metadata.namespace ?? '';
  const select = Object.hasOwn(kind.selectableFields, path) ? kind.selectableFields[path] : undefined;
  if (select === undefined) throw badRequest(unknownField(kind, path));
  return (item) => select(objectInVersion(kind, item));
}

const unknownField = (kind: Kind, path: string): string =>
  selectsMetadataOnly(kind)
    ? `"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`
    : `field label not supported: ${path}`;

/** Kinds without selectable fields share one rule, which ignores whether they are namespaced. */
const selectsMetadataOnly = ({ custom, selectableFields }: Kind): boolean =>
  !custom && Object.keys(selectableFields).length === 0;
