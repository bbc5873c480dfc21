import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import { nameOf } from '../../client/key.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Claim } from './owner.ts';
import { referenceTo } from './owner.ts';

/** The dependencies of `writeClaim`. */
export interface ClaimWriterOptions<Owner extends ApiObject, T extends ApiObject> {
  readonly client: Client;
  readonly ownerKind: Kind<Owner>;
  readonly kind: Kind<T>;
  readonly signal: AbortSignal;
}

/**
 * Adopts and releases objects and returns those that belong to the owner now. Before an adoption it reads the owner from the
 * server, because a stale cache could contain an owner that was deleted and created again.
 */
export async function writeClaim<Owner extends ApiObject, T extends ApiObject>(
  owner: Owner,
  { owned, adopt, release }: Claim<T>,
  options: ClaimWriterOptions<Owner, T>,
): Promise<readonly T[]> {
  const { client, ownerKind, signal } = options;
  for (const object of release) await unlink(owner, object, options);
  if (adopt.length === 0) return owned;
  const current = await client.find(ownerKind, nameOf(owner), { signal });
  const isSame = current?.metadata.uid === owner.metadata.uid;
  if (!isSame || current?.metadata.deletionTimestamp !== undefined) return owned;
  const adopted = await Promise.all(adopt.map((object) => link(owner, object, options)));
  return [...owned, ...adopted.filter((object) => object !== undefined)];
}

async function link<Owner extends ApiObject, T extends ApiObject>(
  owner: Owner,
  object: T,
  { client, kind, ownerKind, signal }: ClaimWriterOptions<Owner, T>,
): Promise<T | undefined> {
  const { uid } = object.metadata;
  const body = { metadata: { uid, ownerReferences: [referenceTo(ownerKind, owner)] } };
  try {
    return await client.patch(kind, nameOf(object), { body, type: 'strategic', signal });
  } catch (error) {
    if (hasStatusCode(error, 404) || hasStatusCode(error, 409)) return undefined; // deleted, or another object by now
    throw error;
  }
}

async function unlink<Owner extends ApiObject, T extends ApiObject>(
  owner: Owner,
  object: T,
  { client, kind, signal }: ClaimWriterOptions<Owner, T>,
): Promise<void> {
  const { uid } = object.metadata;
  const ownerReferences = [{ $patch: 'delete', uid: owner.metadata.uid }];
  try {
    await client.patch(kind, nameOf(object), {
      body: { metadata: { uid, ownerReferences } },
      type: 'strategic',
      signal,
    });
  } catch (error) {
    // It is deleted, another object by now, or has no references any more.
    if (![404, 409, 422].some((code) => hasStatusCode(error, code))) throw error;
  }
}
