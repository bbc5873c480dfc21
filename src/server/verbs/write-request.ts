import type { Kind, WriteContext } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import type { FieldSet } from '../patch/fields/set.ts';
import { emptySet, fieldSetOf } from '../patch/fields/set.ts';
import type { User } from '../../api/user.ts';
import type { ApiCall, ApiRequest } from '../reply.ts';
import type { Work } from '../limits/time-slicer.ts';
import { unsliced } from '../limits/time-slicer.ts';
import type { ResourceRequest } from '../request.ts';
import type { Representation } from './representation.ts';
import type { WriteOptions } from './write-options.ts';
import { managerOf } from './write-options.ts';

/** The parameters of a write, for all verbs. */
export interface WriteRequest {
  /** The user who writes, for authorization and admission; undefined for the server itself. */
  readonly user: User | undefined;
  readonly namespace: string;
  readonly name: string;
  /** The subresource through which the object is written; '' is the object itself. */
  readonly subresource: string;
  readonly dryRun: boolean;
  /** The manager of the fields that are set; undefined if `metadata.managedFields` is already set. */
  readonly manager: string | undefined;
  /** What the client wrote instead of the object itself, if anything. */
  readonly representation?: Representation | undefined;
  /** Collects warnings for the client. */
  readonly warnings: string[];
  /** Runs the stages of the write. */
  readonly work: Work;
  /** Returns the options as they were sent. A function, since only admission webhooks need them. */
  readonly sent?: () => SentOptions;
  /** Adds an annotation to the audit event; absent: there is no audit log. */
  readonly annotate?: ApiRequest['annotate'];
}

/** CreateOptions, UpdateOptions or DeleteOptions. */
export type SentOptions = Readonly<Record<string, unknown>>;

/** A write of an object, or of its representation by a subresource. */
export interface WriteCall extends ApiCall {
  readonly representation?: Representation | undefined;
}

/** The write of a client request. */
export const clientRequest = (
  info: ResourceRequest,
  { request, warnings }: ApiCall,
  options: WriteOptions,
  work: Work,
): WriteRequest => ({
  user: request.user,
  work,
  namespace: info.namespace,
  name: info.name,
  subresource: info.subresource,
  dryRun: options.dryRun,
  manager: managerOf(options, request.header('user-agent')),
  warnings,
  sent: () => sentOptions(info.query),
  ...(request.annotate === undefined ? {} : { annotate: request.annotate }),
});

const sentOptions = (query: URLSearchParams): SentOptions => ({
  ...(query.has('dryRun') ? { dryRun: query.getAll('dryRun') } : {}),
  ...Object.fromEntries([...query].filter(([key]) => key === 'fieldManager' || key === 'fieldValidation')),
});

/** A successful write, or dry run. */
export interface Written {
  readonly item: Item;
  readonly created: boolean;
}

/** The object with some of its metadata replaced. */
export const withMetadata = (object: ApiObject, metadata: Partial<ApiObject['metadata']>): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

/** A write of the server itself, without authorization and warnings. */
export const serverRequest = (
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

const statusFields = fieldSetOf(['status']);
const specFields = fieldSetOf(['spec']);

/** The fields that a write through a subresource never changes, and therefore never owns. */
export function resetFieldsOf({ resets, hasStatus }: Kind, subresource: string): FieldSet {
  const declared = resets[subresource];
  if (declared !== undefined) return fieldSetOf(...declared);
  if (subresource === 'status') return specFields;
  return hasStatus ? statusFields : emptySet;
}

/** The context of a write for the functions of a kind. */
export const writeContext = ({ write, clock }: ServerContext, { user }: WriteRequest): WriteContext => ({
  ...write,
  ...(user === undefined ? {} : { user }),
  now: timestamp(clock()),
});
