import type { ApiObject } from '../../api/metadata.ts';
import type { Item } from '../cache/item.ts';
import type { User } from '../reply.ts';

/** Through which endpoint an object is written; '' is the object itself. */
export type Subresource = '' | 'status' | 'finalize';

/** What every write brings with it, whichever verb it came by. */
export interface WriteRequest {
  /** Who writes, for what is given to others; undefined: the server itself. */
  readonly user: User | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: Subresource;
  readonly dryRun: boolean;
  /** Who owns the fields that are set; undefined: `metadata.managedFields` of the object is already right. */
  readonly manager: string | undefined;
  /** Collects what the client should be told beside the answer. */
  readonly warnings: string[];
}

/** A write that went through (or would have, in a dry run). */
export interface Written {
  readonly item: Item;
  readonly created: boolean;
}

/** RFC 3339 with whole seconds, as metadata has it. */
export const timestamp = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/** The object with some of its metadata replaced. */
export const withMetadata = (object: ApiObject, metadata: Partial<ApiObject['metadata']>): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

/** A write of the server itself: nobody's rights are asked, and nobody is there to be warned. */
export const ownRequest = (
  target: Pick<WriteRequest, 'namespace' | 'name'> & Partial<Pick<WriteRequest, 'subresource' | 'manager'>>,
): WriteRequest => ({ user: undefined, subresource: '', dryRun: false, manager: 'fairlead', warnings: [], ...target });
