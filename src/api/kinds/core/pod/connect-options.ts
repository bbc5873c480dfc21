// The options of streams and proxies, which admission reviews: clients send them as parameters of the URL.

import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { boolean, int32, list, optional, string } from '../../../schema/schema.ts';
import type { FieldMap } from '../../../schema/schema.ts';

const streams = {
  stdin: optional(1, boolean, 'Whether the client sends standard input.'),
  stdout: optional(2, boolean, 'Whether the client reads standard output.'),
  stderr: optional(3, boolean, 'Whether the client reads standard error.'),
  tty: optional(4, boolean, 'Whether the command has a terminal.'),
  container: optional(5, string, 'The container; default: the only one.'),
};
const path = { path: optional(1, string, 'The path of the request.') };

const optionsKind = (kind: string, description: string, fields: FieldMap): Kind =>
  defineKind({
    group: '',
    version: 'v1',
    kind,
    plural: kind.toLowerCase(),
    namespaced: true,
    schema: objectSchema(`io.k8s.api.core.v1.${kind}`, description, fields),
    stored: false,
  });

/** Resource and subresource → the kind of its options. */
export const connectOptions: Readonly<Record<string, Kind>> = {
  'pods/exec': optionsKind('PodExecOptions', 'A command in a container.', {
    ...streams,
    command: optional(6, list(string), 'The command and its arguments.'),
  }),
  'pods/attach': optionsKind('PodAttachOptions', 'The streams of a container.', streams),
  'pods/portforward': optionsKind('PodPortForwardOptions', 'Connections to ports of a Pod.', {
    ports: optional(1, list(int32), 'The ports.'),
  }),
  'pods/proxy': optionsKind('PodProxyOptions', 'A request to a Pod.', path),
  'nodes/proxy': optionsKind('NodeProxyOptions', 'A request to a node.', path),
  'services/proxy': optionsKind('ServiceProxyOptions', 'A request to a Service.', path),
};
