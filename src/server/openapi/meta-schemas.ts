// The shared types of every OpenAPI document: lists, errors, watches and discovery.

import { deleteOptions } from '../../api/delete-options.ts';
import { objectSchema } from '../../api/metadata.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import {
  always,
  boolean,
  int32,
  int64,
  json,
  list,
  optional,
  pointer,
  string,
  struct,
} from '../../api/schema/schema.ts';

/** The prefix of the names of all meta types. */
export const metaV1 = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const typeMeta = {
  kind: optional(0, string, 'The kind of this object, in CamelCase. Cannot be changed.'),
  apiVersion: optional(0, string, 'APIVersion defines the group and version of this kind.'),
};

/** The metadata of a list. */
export const listMeta = struct(`${metaV1}.ListMeta`, 'Metadata of a list, with the revision at which it was read.', {
  selfLink: optional(1, string, 'Deprecated and never set.'),
  resourceVersion: optional(2, string, 'The revision of the list. Use it to start a watch.'),
  continue: optional(3, string, 'Set when more items follow: send it to get the next chunk.'),
  remainingItemCount: pointer(4, int64, 'The number of items after this chunk, if known.'),
});

const statusCause = struct(`${metaV1}.StatusCause`, 'One reason of a failure.', {
  reason: optional(1, string, 'The reason in one word.'),
  message: optional(2, string, 'A human-readable description of the reason.'),
  field: optional(3, string, 'The path of the field that caused it.'),
});

const statusDetails = struct(`${metaV1}.StatusDetails`, 'Details of a status.', {
  name: optional(1, string, 'The name of the object.'),
  group: optional(2, string, 'The group of the resource.'),
  kind: optional(3, string, 'The kind or resource.'),
  uid: optional(6, string, 'The UID of the object, if there is one.'),
  causes: optional(4, list(statusCause), 'All causes of the failure.'),
  retryAfterSeconds: optional(5, int32, 'Seconds to wait before a retry.'),
});

/** The reply to requests that return no object. */
export const statusSchema = struct(`${metaV1}.Status`, 'The outcome of a request that does not return an object.', {
  ...typeMeta,
  metadata: always(1, listMeta, 'List metadata.'),
  status: optional(2, string, 'Success or Failure.'),
  message: optional(3, string, 'A human-readable description.'),
  reason: optional(4, string, 'The reason in one CamelCase word.'),
  details: pointer(5, statusDetails, 'Details about the reason.'),
  code: optional(6, int32, 'The HTTP status code.'),
});

/** An object of which only the metadata is requested. */
export const partialObjectMetadata = objectSchema(
  `${metaV1}.PartialObjectMetadata`,
  'The metadata of an object of any kind.',
  {},
);

const watchEvent = struct(`${metaV1}.WatchEvent`, 'One event of a watch.', {
  type: always(1, string, 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.', { required: true }),
  object: always(2, json, 'The object, or a Status for ERROR.', { required: true }),
});

const patch = struct(
  `${metaV1}.Patch`,
  'The body of a patch; the content type decides its format.',
  {},
  { open: true },
);

const apiResource = struct(`${metaV1}.APIResource`, 'One resource of a group and version.', {
  name: always(1, string, 'The plural name.', { required: true }),
  singularName: always(6, string, 'The singular name.', { required: true }),
  namespaced: always(2, boolean, 'Whether objects live in namespaces.', { required: true }),
  group: optional(8, string, 'The group of its kind, if it differs.'),
  version: optional(9, string, 'The version of its kind, if it differs.'),
  kind: always(3, string, 'The kind of its objects.', { required: true }),
  verbs: always(4, list(string), 'The supported verbs.', { required: true }),
  shortNames: optional(5, list(string), 'Short names.'),
  categories: optional(7, list(string), 'Categories of the resource, such as all.'),
});

const apiResourceList = struct(`${metaV1}.APIResourceList`, 'The resources of a group and version.', {
  ...typeMeta,
  groupVersion: always(1, string, 'The group and version.', { required: true }),
  resources: always(2, list(apiResource), 'The resources.', { required: true }),
});

/** The definitions of every document, whether or not a kind refers to them. */
export const metaSchemas: readonly StructSchema[] = [
  listMeta,
  statusSchema,
  deleteOptions,
  watchEvent,
  patch,
  apiResourceList,
];
