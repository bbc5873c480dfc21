import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import { derivedFromAnnotation } from '../project/marks.ts';
import type { MemberCaches } from './caches.ts';
import { importsOf, sourceOf } from './caches.ts';

/** Told of what changes in a member. */
export interface MemberListener {
  /** What the member exports under this name has changed: all members are concerned. */
  source(key: Key): void;
  /** What the member holds of this service has changed: it alone is concerned. */
  target(key: Key): void;
  /** A namespace came or is going: all its services are concerned, in this member. */
  namespace(name: string): void;
  /** Whether it answers, or has been read, may have changed. */
  state(): void;
}

/** Maps every change of a member to the services that it concerns. What is not exported concerns none. */
export function followMember(caches: MemberCaches, listener: MemberListener, isExported: (key: Key) => boolean): void {
  const exported = (object: ApiObject): void => listener.source(keyOf(object));
  for (const cache of [caches.seedExports, caches.currentExports]) {
    cache.subscribe({ added: exported, updated: exported, deleted: exported });
  }
  const imported = (object: ApiObject): void => listener.target(keyOf(object));
  for (const cache of [caches.importedServices, caches.serviceImports]) {
    cache.subscribe({ added: imported, updated: imported, deleted: imported });
  }
  const service = (object: Service): void => {
    const key = keyOf(object);
    if (isExported(key)) listener.source(key);
    const derivedFrom = object.metadata.annotations?.[derivedFromAnnotation];
    if (derivedFrom !== undefined) listener.target(derivedFrom);
  };
  caches.services.subscribe({
    added: service,
    updated(object, old) {
      service(object);
      if (old.metadata.annotations?.[derivedFromAnnotation] !== undefined) service(old);
    },
    deleted: service,
  });
  const slices = (...each: readonly Parameters<typeof sourceOf>[0][]): void => {
    for (const key of new Set(each.flatMap(sourceOf))) if (isExported(key)) listener.source(key);
    for (const key of new Set(each.flatMap(importsOf))) listener.target(key);
  };
  caches.slices.subscribe({ added: slices, updated: slices, deleted: slices });
  caches.namespaces.subscribe({
    added: ({ metadata }) => listener.namespace(metadata.name ?? ''),
    updated({ metadata }, old) {
      if (metadata.deletionTimestamp !== old.metadata.deletionTimestamp) listener.namespace(metadata.name ?? '');
    },
    deleted: ({ metadata }) => listener.namespace(metadata.name ?? ''),
  });
}
