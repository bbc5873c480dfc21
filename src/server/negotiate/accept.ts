import type { StatusDetails } from '../../api/errors.ts';
import { failure } from '../../api/errors.ts';

/** The representation that a client requests. */
export interface Choice {
  readonly as: 'object' | 'table' | 'metadata' | 'metadataList';
  /** Of `meta.k8s.io`, for tables and metadata. */
  readonly version: string;
}

/** The encoding of a reply. Protobuf is never sent: clients decode by the Content-Type of the reply. */
export type Encoding = 'json' | 'yaml';

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The media types of objects, in Kubernetes' order. */
export const acceptedTypes = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';

const plain: Choice = { as: 'object', version: 'v1' };

/**
 * The first representation in the Accept header that the server supports, by quality and then by order.
 * `allows` lists the transformations of the endpoint. Requests for protobuf get JSON, since clients decode by the
 * Content-Type of the reply. Throws Kubernetes' 406 if nothing matches.
 */
export function negotiate(accept: string | undefined, allows: readonly Choice['as'][]): Choice {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return plain;
  const clauses = parseAccept(accept).filter(({ type }) => encodings.has(type));
  for (const clause of clauses) {
    const choice = choose(clause);
    if (choice !== undefined && (choice.as === 'object' || allows.includes(choice.as))) return choice;
  }
  if (clauses.length > 0) throw notAcceptable(`only the following media types are accepted: ${acceptedTypes}`);
  throw notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${acceptedTypes}`, {});
}

/** The encoding that an Accept header prefers among those there are. */
export function encodingOf(accept: string | undefined): Encoding {
  if (accept === undefined || !accept.includes('yaml')) return 'json';
  const preferred = parseAccept(accept).find(({ type }) => encodings.has(type));
  return encodings.get(preferred?.type ?? '') ?? 'json';
}

const notAcceptable = (message: string, details?: StatusDetails): Error =>
  failure({ code: 406, reason: 'NotAcceptable', message, ...(details === undefined ? {} : { details }) });

function choose({ parameters }: Clause): Choice | undefined {
  const as = parameters.get('as');
  if (as === undefined) return plain;
  const version = parameters.get('v') ?? '';
  if (parameters.get('g') !== 'meta.k8s.io' || !['v1', 'v1beta1'].includes(version)) return undefined;
  const form = forms.get(as);
  return form === undefined ? undefined : { as: form, version };
}

const encodings = new Map<string, Encoding>([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/vnd.kubernetes.protobuf', 'json'],
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
