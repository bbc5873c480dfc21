// Shared types that appear in every OpenAPI document beside the kinds: what lists, errors, watches and discovery are.

import { deleteOptions } from '../../api/options.ts';
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
  kind: optional(0, string, 'What this object is, in CamelCase. Cannot be changed.'),
  apiVersion: optional(0, string, 'The group and version that define this kind.'),
};

/** The metadata of a list. */
export const listMeta = struct(`${metaV1}.ListMeta`, 'What every list has: the revision it was read at.', {
  selfLink: optional(1, string, 'Deprecated and never set.'),
  resourceVersion: optional(2, string, 'The revision of the list. Use it to start a watch.'),
  continue: optional(3, string, 'Set when there is more: send it back to get the next chunk.'),
  remainingItemCount: pointer(4, int64, 'How many items follow this chunk, when known.'),
});

const statusCause = struct(`${metaV1}.StatusCause`, 'One reason of a failure.', {
  reason: optional(1, string, 'The reason in one word.'),
  message: optional(2, string, 'The reason for a person.'),
  field: optional(3, string, 'The path of the field that caused it.'),
});

const statusDetails = struct(`${metaV1}.StatusDetails`, 'What a status is about.', {
  name: optional(1, string, 'The name of the object.'),
  group: optional(2, string, 'The group of the resource.'),
  kind: optional(3, string, 'The kind or resource.'),
  uid: optional(6, string, 'The UID of the object, when there is one.'),
  causes: optional(4, list(statusCause), 'All causes of the failure.'),
  retryAfterSeconds: optional(5, int32, 'When to try again.'),
});

/** Kubernetes' answer when there is no object to answer with. */
const status = struct(`${metaV1}.Status`, 'The outcome of a request that does not return an object.', {
  ...typeMeta,
  metadata: always(1, listMeta, 'List metadata.'),
  status: optional(2, string, 'Success or Failure.'),
  message: optional(3, string, 'What happened, for a person.'),
  reason: optional(4, string, 'Why, in one CamelCase word.'),
  details: pointer(5, statusDetails, 'What it is about.'),
  code: optional(6, int32, 'The HTTP status code.'),
});

const watchEvent = struct(`${metaV1}.WatchEvent`, 'One event of a watch.', {
  type: always(1, string, 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.', { required: true }),
  object: always(2, json, 'The object, or a Status for ERROR.', { required: true }),
});

const patch = struct(
  `${metaV1}.Patch`,
  'The body of a patch; its form follows from the content type.',
  {},
  { open: true },
);

const apiResource = struct(`${metaV1}.APIResource`, 'One resource of a group and version.', {
  name: always(1, string, 'The plural name.', { required: true }),
  singularName: always(6, string, 'The singular name.', { required: true }),
  namespaced: always(2, boolean, 'Whether objects live in namespaces.', { required: true }),
  group: optional(8, string, 'The group of its kind, when it is another.'),
  version: optional(9, string, 'The version of its kind, when it is another.'),
  kind: always(3, string, 'The kind of its objects.', { required: true }),
  verbs: always(4, list(string), 'What can be done with it.', { required: true }),
  shortNames: optional(5, list(string), 'Short names.'),
  categories: optional(7, list(string), 'Groups of resources it is part of, such as all.'),
});

const apiResourceList = struct(`${metaV1}.APIResourceList`, 'The resources of a group and version.', {
  ...typeMeta,
  groupVersion: always(1, string, 'The group and version.', { required: true }),
  resources: always(2, list(apiResource), 'The resources.', { required: true }),
});

/** What every document defines, whether or not one of its kinds refers to it. */
export const metaSchemas: readonly StructSchema[] = [
  listMeta,
  status,
  deleteOptions,
  watchEvent,
  patch,
  apiResourceList,
];
