// A schema with every type and presence, for tests of the code that derives from schemas.

import { objectSchema } from '../../metadata.ts';
import {
  always,
  boolean,
  bytes,
  double,
  int32,
  int64,
  intOrString,
  json,
  list,
  listMap,
  map,
  microTime,
  oneOf,
  optional,
  pointer,
  quantity,
  setOf,
  string,
  struct,
  time,
} from '../schema.ts';

const port = struct('io.example.v1.Port', 'A port.', {
  name: optional(1, string, 'Its name.'),
  protocol: optional(2, oneOf('TCP', 'UDP'), 'Its protocol.', { default: 'TCP' }),
  port: always(3, int32, 'Its number.', { required: true }),
  target: optional(4, intOrString, 'Where it leads.'),
  appProtocol: pointer(6, string, 'What is spoken on it.'),
});

const rule = struct('io.example.v1.Rule', 'A rule.', {
  host: optional(1, string, 'Its host.'),
  http: pointer(1, struct('io.example.v1.Http', 'HTTP.', { path: optional(1, string, 'A path.') }), 'HTTP.', {
    inline: 2,
  }),
});

/** A kind with fields of every type. */
export const everything = objectSchema('io.example.v1.Everything', 'A bit of everything.', {
  ports: always(2, listMap(port, ['port', 'protocol'], { mergeKey: 'port' }), 'Ports.'),
  rules: optional(3, list(rule), 'Rules.'),
  names: optional(4, setOf(string), 'Names.'),
  labels: optional(5, map(string), 'Labels.'),
  extra: optional(6, map(list(string)), 'Lists by name.'),
  secrets: optional(7, map(bytes), 'Bytes by name.'),
  capacity: optional(8, map(quantity), 'Quantities by name.'),
  numbers: optional(9, list(int64), 'Numbers.'),
  weight: optional(10, double, 'A weight.'),
  enabled: optional(11, boolean, 'Whether it is.'),
  forced: pointer(12, boolean, 'Whether it must.'),
  started: optional(13, time, 'When it started.'),
  renewed: pointer(14, microTime, 'When it was renewed.'),
  raw: pointer(15, json, 'Anything.'),
  status: always(16, struct('io.example.v1.Status', 'Its state.', { phase: optional(1, string, 'A word.') }), 'State.'),
  stamp: always(17, time, 'Always written.'),
  payload: optional(18, bytes, 'Some bytes.'),
});
