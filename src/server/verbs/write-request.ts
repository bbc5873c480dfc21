import type { ApiObject } from '../../api/metadata.ts';
import type { Item } from '../cache/item.ts';
import type { ApiRequest, User } from '../reply.ts';
import type { Work } from '../limits/time-slicer.ts';
import { unsliced } from '../limits/time-slicer.ts';
import type { ResourceRequest } from '../request.ts';
import type { WriteOptions } from './write-options.ts';
import { managerOf } from './write-options.ts';

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
  /** Runs the stages of the write. */
  readonly work: Work;
  /** The options as they were sent. Only webhooks want them, and most writes ask none. */
  readonly sent?: () => SentOptions;
}

/** CreateOptions, UpdateOptions or DeleteOptions. */
export type SentOptions = Readonly<Record<string, unknown>>;

/** What a client asks to be written. */
export const clientRequest = (
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
  options: WriteOptions,
  work: Work,
): WriteRequest => ({
  user: request.user,
  work,
  namespace: info.namespace,
  name: info.name,
  subresource: subresourceOf(info),
  dryRun: options.dryRun,
  manager: managerOf(options, request.header('user-agent')),
  warnings,
  sent: () => sentOptions(info.query),
});

/** Which of the endpoints that write the object itself is meant. */
const subresourceOf = ({ subresource }: ResourceRequest): Subresource =>
  subresource === 'status' || subresource === 'finalize' ? subresource : '';

const sentOptions = (query: URLSearchParams): SentOptions => ({
  ...(query.has('dryRun') ? { dryRun: query.getAll('dryRun') } : {}),
  ...Object.fromEntries([...query].filter(([key]) => key === 'fieldManager' || key === 'fieldValidation')),
});

/** A write that went through (or would have, in a dry run). */
export interface Written {
  readonly item: Item;
  readonly created: boolean;
}

/** The object with some of its metadata replaced. */
export const withMetadata = (object: ApiObject, metadata: Partial<ApiObject['metadata']>): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

/** A write of the server itself: nobody's rights are asked, and nobody is there to be warned. */
export const ownRequest = (
  target: Pick<WriteRequest, 'namespace' | 'name'> & Partial<Pick<WriteRequest, 'subresource' | 'manager'>>,
): WriteRequest => ({
  user: undefined,
  subresource: '',
  dryRun: false,
  manager: 'fairlead',
  warnings: [],
  work: unsliced,
  ...target,
});
