import type { Item } from '../cache/item.ts';
import type { Presenter } from './presenter.ts';
import { listOf, withRevision } from './presenter.ts';

/** Objects without their content, for clients that go by metadata alone. */
export function metadataPresenter(version: string): Presenter {
  const kind = { kind: 'PartialObjectMetadata', group: 'meta.k8s.io', version };
  const partial = (item: Item, revision = item.revision): string => {
    const metadata = withRevision(item.object.metadata, revision);
    return JSON.stringify({ kind: kind.kind, apiVersion: `meta.k8s.io/${version}`, metadata });
  };
  return {
    contentType: 'application/json',
    shared: `metadata/${version}`,
    object: partial,
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => partial(item) }),
    bookmark: (revision, annotations) =>
      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":{"resourceVersion":"${revision}"${annotations}}}`,
  };
}
