import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Client, Name, WriteOptions } from '../client/client.ts';
import type { Key } from '../client/key.ts';
import { hasStatusCode } from '../client/transport.ts';
import type { Expectations } from '../client/expectations.ts';
import type { SliceWrites } from './slices.ts';
import { dropsSrvName, hasSrvName } from './target-ports.ts';

/** Where slices are written, and by whom. */
export interface SliceWriterOptions {
  readonly client: Client;
  readonly writes: Expectations;
  readonly signal: AbortSignal;
  /** Told of every write that got through. */
  readonly onWrite: (operation: 'create' | 'update' | 'delete') => void;
}

/** What came of writing slices; `dropsSrvName`: the server left that field out, so that it need not be sent again. */
export interface Written {
  readonly dropsSrvName: boolean;
}

/**
 * Makes the slices of a key so. Additions come first, so that an endpoint is never in no slice while it moves between
 * two. What a namespace that is being deleted refuses is not wanted any more.
 */
export async function writeSlices(
  key: Key,
  { create, update, remove }: SliceWrites,
  { client, writes, signal, onWrite }: SliceWriterOptions,
): Promise<Written> {
  let isDropped = false;
  // What was sent is known: only whether a name that is to be kept was dropped is not.
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

const nameOf = ({ metadata: { namespace, name = '' } }: EndpointSlice): Name => ({ namespace, name });

/** Whether a creation was refused because the namespace is being deleted: nothing to try again. */
export const isNamespaceEnding = (error: unknown): boolean =>
  hasStatusCode(error, 403) &&
  (error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);
