import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  bytes,
  int32,
  listMap,
  optional,
  pointer,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';

const v1 = 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1';

const serviceReference = struct(`${v1}.ServiceReference`, 'Identifies a port of a Service.', {
  namespace: optional(1, string, 'The namespace of the Service.'),
  name: optional(2, string, 'The Service.'),
  port: pointer(3, int32, 'The port of the Service; default: 443.'),
});

const spec = struct(`${v1}.APIServiceSpec`, 'Where a version of a group is served.', {
  service: pointer(
    1,
    serviceReference,
    'The Service of the server, which must use TLS. Without it, this server itself serves the version.',
  ),
  group: optional(2, string, 'The API group.'),
  version: optional(3, string, 'The version, such as v1.'),
  insecureSkipTLSVerify: optional(
    4,
    boolean,
    'Disables the verification of the certificate of the server. Use caBundle instead.',
  ),
  caBundle: optional(5, bytes, 'CA certificates in PEM to verify the server with; default: those of the system.'),
  groupPriorityMinimum: always(
    7,
    int32,
    'The least priority of the group; clients prefer groups of higher priority. At most 20000.',
    { required: true },
  ),
  versionPriority: always(
    8,
    int32,
    'The order of the version in its group, highest first; equal ones by their names. At most 1000.',
    { required: true },
  ),
});

const condition = struct(`${v1}.APIServiceCondition`, 'One aspect of the state of an APIService.', {
  type: always(1, string, 'Available.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: optional(3, time, 'When the status last changed.'),
  reason: optional(4, string, 'The reason, as one CamelCase word.'),
  message: optional(5, string, 'The reason, as text for people.'),
});

/** APIService of apiregistration.k8s.io/v1. */
export const apiService = objectSchema(`${v1}.APIService`, 'The server of a version of an API group.', {
  spec: always(2, spec, 'Where the version is served.'),
  status: always(
    3,
    struct(`${v1}.APIServiceStatus`, 'The state of an APIService.', {
      conditions: optional(1, listMap(condition, ['type']), 'Aspects of the state.'),
    }),
    'Whether the server can be reached.',
  ),
});

export type ApiService = Infer<typeof apiService>;
export type ApiServiceCondition = Infer<typeof condition>;
