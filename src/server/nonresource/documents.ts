import { mergedAggregated, mergedGroup, mergedGroupList } from '../aggregation/discovery.ts';
import type { RemoteDocuments } from '../aggregation/documents.ts';
import { mergedIndex, mergedSwagger } from '../aggregation/openapi.ts';
import type { Kind } from '../../api/kind.ts';
import { issuerPaths } from '../access/identity/issuer-documents.ts';
import { backupPath } from './backup.ts';
import { aggregatedDiscovery } from '../discovery/aggregated.ts';
import type { Document } from '../discovery/document.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../discovery/legacy.ts';
import { versionDocument } from '../discovery/version.ts';
import { parseAccept } from '../negotiate/accept.ts';
import {
  emptyOpenApiV2,
  openApiDocument,
  openApiIndex,
  openApiV2,
  openApiV2ProtobufTypes,
  prepareOpenApi,
} from '../openapi/openapi.ts';
import type { ApiRequest, Reply } from '../reply.ts';
import { jsonReply } from '../reply.ts';

export interface DocumentOptions {
  /** What this server itself serves. */
  readonly kinds: readonly Kind[];
  /** The documents of aggregated servers. */
  readonly remote: RemoteDocuments;
  /** `host:port` as clients reach it. */
  readonly address: string;
  /** This program's version. */
  readonly version: string;
}

/** Documents with a hash in the URL may be cached for a year. */
const yearMs = 31_536_000_000;

/** The reply for discovery, OpenAPI and version; undefined for other paths. */
export async function documentFor(
  path: string,
  query: URLSearchParams,
  { request, options }: { readonly request: ApiRequest; readonly options: DocumentOptions },
): Promise<Reply | undefined> {
  const { kinds, remote } = options;
  const trimmed = path.length > 1 ? path.replace(/\/$/, '') : path;
  switch (trimmed) {
    case '/':
      return jsonReply(200, `${JSON.stringify({ paths: rootPaths(kinds) })}\n`);
    case '/version':
      return documentReply(request, versionDocument(options.version));
    case '/api':
    case '/apis':
      return documentReply(request, discovery(trimmed, request, options));
    case '/api/v1':
      return optionalReply(request, apiResourceList(kinds, 'v1'));
  }
  if (trimmed.startsWith('/apis/')) {
    const [group = '', version, ...rest] = trimmed.slice('/apis/'.length).split('/');
    if (rest.length > 0) return undefined;
    if (version !== undefined) return optionalReply(request, apiResourceList(kinds, `${group}/${version}`));
    const merged = remote.merged(`/apis/${group}`, apiGroup(kinds, group), (own) =>
      mergedGroup(own, group, remote.discovery),
    );
    return optionalReply(request, merged);
  }
  return trimmed.startsWith('/openapi/') ? openApiReply(trimmed, query, { request, options }) : undefined;
}

function discovery(path: '/api' | '/apis', request: ApiRequest, { kinds, remote, address }: DocumentOptions): Document {
  for (const { parameters } of parseAccept(request.header('accept') ?? '')) {
    if (parameters.get('as') !== 'APIGroupDiscoveryList' || parameters.get('g') !== 'apidiscovery.k8s.io') continue;
    const version = parameters.get('v');
    if (version === 'v2' || version === 'v2beta1') {
      if (path === '/api') return aggregatedDiscovery(kinds, 'core', version);
      return remote.merged(`/apis ${version}`, aggregatedDiscovery(kinds, 'groups', version), (own) =>
        mergedAggregated(own, remote.discovery),
      );
    }
  }
  if (path === '/api') return apiVersions(address);
  return remote.merged('/apis', apiGroupList(kinds), (own) => mergedGroupList(own, remote.discovery));
}

const optionalReply = (request: ApiRequest, document: Document | undefined): Reply | undefined =>
  document === undefined ? undefined : documentReply(request, document);

function rootPaths(kinds: readonly Kind[]): string[] {
  const paths = new Set([
    ...issuerPaths,
    '/api',
    '/apis',
    '/healthz',
    '/livez',
    '/metrics',
    '/metrics/slis',
    '/openapi/v2',
    '/openapi/v3',
    '/readyz',
    backupPath,
    '/version',
  ]);
  for (const { group, version } of kinds) {
    if (group !== '') paths.add(`/apis/${group}`);
    paths.add(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
  }
  return [...paths].sort();
}

/** The reply for `/openapi/v2`, `/openapi/v3` and `/openapi/v3/{group version}`; undefined for other paths. */
async function openApiReply(
  path: string,
  query: URLSearchParams,
  { request, options: { kinds, remote } }: { readonly request: ApiRequest; readonly options: DocumentOptions },
): Promise<Reply | undefined> {
  if (path === '/openapi/v2') {
    if (acceptsOnlyProtobuf(request)) return documentReply(request, emptyOpenApiV2);
    await prepareOpenApi(kinds);
    const merged = remote.merged(path, openApiV2(kinds), (own) => mergedSwagger(own, remote.swaggers));
    return documentReply(request, merged);
  }
  if (path === '/openapi/v3') {
    return documentReply(
      request,
      remote.merged(path, openApiIndex(kinds), (own) => mergedIndex(own, remote.hashes)),
    );
  }
  if (!path.startsWith('/openapi/v3/')) return undefined;
  const key = path.slice('/openapi/v3/'.length);
  await prepareOpenApi(kinds, key);
  const document = openApiDocument(kinds, key);
  if (document === undefined) return { status: 404, headers: {}, body: '' };
  const hash = query.get('hash');
  if (hash === null) return documentReply(request, document);
  if (hash === document.hash) return documentReply(request, document, immutable());
  return { status: 301, headers: { Location: `${path}?hash=${document.hash}` }, body: '' };
}

/** kubectl accepts only the protobuf form; clients that also accept JSON get JSON. */
function acceptsOnlyProtobuf(request: ApiRequest): boolean {
  const types = parseAccept(request.header('accept') ?? '').map(({ type }) => type);
  return types.length > 0 && types.every((type) => openApiV2ProtobufTypes.includes(type));
}

const immutable = (): Record<string, string> => ({
  'Cache-Control': 'public, immutable',
  Expires: new Date(Date.now() + yearMs).toUTCString(),
});

/** A document with its ETag; 304 if the client has it already. */
function documentReply(
  request: ApiRequest,
  document: Omit<Document, 'body'> & { readonly body: string | Buffer },
  headers: Record<string, string> = {},
): Reply {
  const shared = { ETag: document.etag, Vary: 'Accept', 'Cache-Control': 'public', ...headers };
  if (request.header('if-none-match') === document.etag) return { status: 304, headers: shared, body: '' };
  return { status: 200, headers: { ...shared, 'Content-Type': document.contentType }, body: document.body };
}
