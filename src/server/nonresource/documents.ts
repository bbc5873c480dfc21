import type { Kind } from '../../api/kind.ts';
import { issuerPaths } from '../access/identity/issuer-documents.ts';
import { aggregatedDiscovery } from '../discovery/aggregated.ts';
import type { Document } from '../discovery/document.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../discovery/legacy.ts';
import { versionDocument } from '../discovery/version.ts';
import { parseAccept } from '../negotiate/accept.ts';
import { documentReply } from './document-reply.ts';
import { openApiReply } from './openapi.ts';
import type { ApiRequest, Reply } from '../reply.ts';
import { jsonReply } from '../reply.ts';

export interface DocumentOptions {
  readonly kinds: readonly Kind[];
  /** `host:port` as clients reach it. */
  readonly address: string;
  /** This program's version. */
  readonly version: string;
}

/** The documents that describe the server: discovery, OpenAPI, version. Undefined: the path is none of them. */
export function documentFor(
  path: string,
  query: URLSearchParams,
  { request, options }: { readonly request: ApiRequest; readonly options: DocumentOptions },
): Reply | undefined {
  const { kinds } = options;
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
    return optionalReply(
      request,
      version === undefined ? apiGroup(kinds, group) : apiResourceList(kinds, `${group}/${version}`),
    );
  }
  return trimmed.startsWith('/openapi/') ? openApiReply(trimmed, query, { request, kinds }) : undefined;
}

function discovery(path: '/api' | '/apis', request: ApiRequest, { kinds, address }: DocumentOptions): Document {
  for (const { parameters } of parseAccept(request.header('accept') ?? '')) {
    if (parameters.get('as') !== 'APIGroupDiscoveryList' || parameters.get('g') !== 'apidiscovery.k8s.io') continue;
    const version = parameters.get('v');
    if (version === 'v2' || version === 'v2beta1') {
      return aggregatedDiscovery(kinds, path === '/api' ? 'core' : 'groups', version);
    }
  }
  return path === '/api' ? apiVersions(address) : apiGroupList(kinds);
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
    '/openapi/v2',
    '/openapi/v3',
    '/readyz',
    '/version',
  ]);
  for (const { group, version } of kinds) {
    if (group !== '') paths.add(`/apis/${group}`);
    paths.add(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
  }
  return [...paths].sort();
}
