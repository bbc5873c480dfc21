import { ageColumn, nameColumn } from '../../api/columns.ts';
import { badRequest } from '../../api/errors.ts';
import type { Column, Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import type { Item } from '../cache/item.ts';
import { objectInVersion } from '../cache/item.ts';
import type { Presenter } from './presenter.ts';
import { jsonPresenter, metadataPresenter } from './presenter.ts';

/** How much of the object a row contains. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

export function parseIncludeObject(text: string | null): IncludeObject {
  switch (text ?? '') {
    case '':
    case 'Metadata':
      return 'Metadata';
    case 'Object':
      return 'Object';
    case 'None':
      return 'None';
    default:
      throw badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

export interface TableOptions {
  readonly kind: Kind;
  readonly version: string;
  readonly includeObject: IncludeObject;
  readonly whole: Presenter<string>;
  readonly clock: () => number;
}

/** Objects as rows of a Table, which `kubectl get` prints. */
export function tablePresenter({ kind, version, includeObject, whole, clock }: TableOptions): Presenter<string> {
  const columns: readonly Column[] = kind.columns.length > 0 ? kind.columns : [nameColumn, ageColumn];
  const columnDefinitions = columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
  const partial = metadataPresenter(version);
  let definitionsSent = false; // a watch sends the definitions with its first event only

  const rowObject = (item: Item, revision: number): string => {
    if (includeObject === 'None') return ',"object":null';
    return `,"object":${includeObject === 'Object' ? whole.object(item, revision) : partial.object(item, revision)}`;
  };
  const row = (item: Item, revision: number): string => {
    const object = objectInVersion(kind, item);
    const now = clock();
    const cells = JSON.stringify(columns.map((column) => column.cell(object, now)));
    const conditions = kind.rowConditions(object);
    const printed = conditions.length > 0 ? `,"conditions":${JSON.stringify(conditions)}` : '';
    return `{"cells":${cells}${printed}${rowObject(item, revision)}}`;
  };
  const table = (meta: string, rows: string): string => {
    const printed = definitionsSent ? 'null' : JSON.stringify(columnDefinitions);
    definitionsSent = true;
    return `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":${meta},"columnDefinitions":${printed},"rows":[${rows}]}`;
  };
  return jsonPresenter({
    shared: undefined,
    inVersion: whole.inVersion,
    object: (item, revision = item.revision) =>
      table(revision === 0 ? '{}' : `{"resourceVersion":"${revision}"}`, row(item, revision)),
    list: (items, metadata) => ({
      head: { kind: 'Table', apiVersion: `meta.k8s.io/${version}`, metadata, columnDefinitions },
      field: 'rows',
      items,
      write: (item) => row(item, item.revision),
    }),
    bookmark: (metadata) => {
      const empty = decode<ApiObject>(kind.schema, {}).object;
      const cells = JSON.stringify(columns.map((column) => column.cell(empty, clock())));
      const object = JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata });
      return table(`{"resourceVersion":"${metadata.resourceVersion}"}`, `{"cells":${cells},"object":${object}}`);
    },
  });
}
