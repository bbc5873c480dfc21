import type { StatusDetails } from '../../api/errors.ts';
import { failure } from '../../api/errors.ts';

/** The representation that a client requests. */
export interface Choice {
  readonly as: 'object' | 'table' | 'metadata' | 'metadataList';
  /** Of `meta.k8s.io`, for tables and metadata. */
  readonly version: string;
  readonly encoding: Encoding;
}

/** The encoding of a reply. */
export type Encoding = 'json' | 'yaml' | 'protobuf';

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The media type of protobuf. */
export const protobufType = 'application/vnd.kubernetes.protobuf';

/** The media types of objects, in Kubernetes' order. */
export const acceptedTypes = `application/json, application/yaml, ${protobufType}`;

const plain: Choice = { as: 'object', version: 'v1', encoding: 'json' };
const plainProtobuf: Choice = { ...plain, encoding: 'protobuf' };

/** What an endpoint supports besides objects in JSON and YAML. */
export interface Support {
  readonly transformations: readonly Choice['as'][];
  /** Whether the objects themselves have a protobuf encoding; those of custom resources have none. */
  readonly protobuf: boolean;
}

/**
 * The first representation in the Accept header that the endpoint supports, by quality and then by order. Throws
 * Kubernetes' 406 if nothing matches.
 */
export function negotiate(accept: string | undefined, support: Support): Choice {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return plain;
  if (accept === protobufType && support.protobuf) return plainProtobuf;
  const clauses = parseAccept(accept).filter(({ type }) => encodings.has(type));
  for (const clause of clauses) {
    const choice = choose(clause);
    if (choice !== undefined && isSupported(choice, support)) return choice;
  }
  if (clauses.length > 0) throw notAcceptable(`only the following media types are accepted: ${acceptedTypes}`);
  throw notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${acceptedTypes}`, {});
}

/** As in Kubernetes, tables have no protobuf encoding, and metadata has one for every resource. */
function isSupported({ as, encoding }: Choice, { transformations, protobuf }: Support): boolean {
  if (as === 'object') return encoding !== 'protobuf' || protobuf;
  return transformations.includes(as) && !(as === 'table' && encoding === 'protobuf');
}

/** The encoding that an Accept header prefers for what is never transformed, such as a Status. */
export function encodingOf(accept: string | undefined): Encoding {
  if (accept === undefined || (!accept.includes('yaml') && !accept.includes('protobuf'))) return 'json';
  const preferred = parseAccept(accept).find(
    ({ type, parameters }) => encodings.has(type) && !(type === protobufType && parameters.has('as')),
  );
  return encodings.get(preferred?.type ?? '') ?? 'json';
}

const notAcceptable = (message: string, details?: StatusDetails): Error =>
  failure({ code: 406, reason: 'NotAcceptable', message, ...(details === undefined ? {} : { details }) });

function choose({ type, parameters }: Clause): Choice | undefined {
  const as = parameters.get('as');
  const encoding = encodings.get(type) ?? 'json';
  if (as === undefined) return { ...plain, encoding };
  const version = parameters.get('v') ?? '';
  if (parameters.get('g') !== 'meta.k8s.io' || !['v1', 'v1beta1'].includes(version)) return undefined;
  const form = forms.get(as);
  return form === undefined ? undefined : { as: form, version, encoding };
}

const encodings = new Map<string, Encoding>([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  [protobufType, 'protobuf'],
  ['application/yaml', 'yaml'],
]);

const forms = new Map<string, Choice['as']>([
  ['Table', 'table'],
  ['PartialObjectMetadata', 'metadata'],
  ['PartialObjectMetadataList', 'metadataList'],
]);

/** Further clauses are ignored; clients send about three. */
const maxClauses = 100;

/** The clauses of an Accept header by descending quality. */
export function parseAccept(header: string): readonly Clause[] {
  return header
    .split(',', maxClauses)
    .map(parseClause)
    .sort((a, b) => b.quality - a.quality);
}

function parseClause(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const equals = parameter.indexOf('=');
    if (equals > 0) parameters.set(parameter.slice(0, equals).trim(), parameter.slice(equals + 1).trim());
  }
  const quality = Number(parameters.get('q') ?? '1');
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 0 : quality };
}
