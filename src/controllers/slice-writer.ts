import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Client, WriteOptions } from '../client/client.ts';
import type { Key } from '../client/key.ts';
import { nameOf } from '../client/key.ts';
import { hasStatusCode } from '../client/transport.ts';
import type { Expectations } from '../client/expectations.ts';
import type { SliceWrites } from './slices.ts';
import { dropsSrvName, hasSrvName } from './target-ports.ts';

export interface SliceWriterOptions {
  readonly client: Client;
  readonly writes: Expectations;
  readonly signal: AbortSignal;
  /** Called after every successful write. */
  readonly onWrite: (operation: 'create' | 'update' | 'delete') => void;
}

/** `dropsSrvName`: the server dropped that field, see target-ports.ts. */
export interface Written {
  readonly dropsSrvName: boolean;
}

/**
 * Applies planned writes. Creations come first, so that an endpoint that moves between slices is always in one. Ignores
 * rejections because the namespace is being deleted.
 */
export async function writeSlices(
  key: Key,
  { create, update, remove }: SliceWrites,
  { client, writes, signal, onWrite }: SliceWriterOptions,
): Promise<Written> {
  let isDropped = false;
  // The response is only needed to detect a dropped srvServiceName.
  const optionsFor = ({ ports }: EndpointSlice): WriteOptions => ({ signal, metadataOnly: !hasSrvName(ports ?? []) });
  const note = (kept: EndpointSlice, sent: EndpointSlice): void => {
    writes.wrote(key, kept, sent);
    isDropped ||= dropsSrvName(sent.ports ?? [], kept.ports ?? []);
  };
  for (const slice of create) {
    try {
      note(await client.create(endpointSliceKind, slice, optionsFor(slice)), slice);
    } catch (error) {
      if (isNamespaceEnding(error)) return { dropsSrvName: false };
      throw error;
    }
    onWrite('create');
  }
  for (const slice of update) {
    note(await client.update(endpointSliceKind, slice, optionsFor(slice)), slice);
    onWrite('update');
  }
  for (const slice of remove) {
    const { uid = '' } = slice.metadata;
    await client.delete(endpointSliceKind, nameOf(slice), { preconditions: { uid }, signal });
    writes.removed(key, slice);
    onWrite('delete');
  }
  return { dropsSrvName: isDropped };
}

/** Whether the server rejected a creation because the namespace is being deleted, which is not retried. */
export const isNamespaceEnding = (error: unknown): boolean =>
  hasStatusCode(error, 403) &&
  (error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);
