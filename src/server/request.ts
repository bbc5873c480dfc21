import { parseFieldSelector } from '../api/selectors/fields.ts';

/** What a request addresses, derived from its method and URL. */
export type RequestInfo = ResourceRequest | NonResourceRequest;

export interface NonResourceRequest {
  readonly isResource: false;
  readonly path: string;
  readonly verb: string;
  readonly query: URLSearchParams;
}

export interface ResourceRequest {
  readonly isResource: true;
  readonly path: string;
  readonly verb: ResourceVerb;
  readonly query: URLSearchParams;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** '' for cluster-scoped objects and for all namespaces. */
  readonly namespace: string;
  readonly name: string;
  /** The path after the subresource `proxy`, as sent: '' or from a slash on. */
  readonly proxyPath?: string;
}

export type ResourceVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | 'unsupported';

const noQuery = new URLSearchParams();

/**
 * Parses the URL grammar of Kubernetes:
 *
 *     /api/{version}/…  and  /apis/{group}/{version}/…  followed by
 *     [watch/] [namespaces/{namespace}/] {resource} [/{name} [/{subresource}]]
 *     [namespaces/{namespace}/] {resource} /{name} /proxy [/{path of another program}]
 *
 * Anything else, including the discovery documents, is a non-resource request. So is a URL with a segment that is empty
 * or cannot be decoded, so that no encoding trick reaches an object.
 */
export function parseRequest(method: string, url: string): RequestInfo {
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const query = question < 0 ? noQuery : new URLSearchParams(url.slice(question + 1));
  const other: NonResourceRequest = { isResource: false, path, verb: method.toLowerCase(), query };

  const proxied = proxiedPath.exec(path);
  const [own = path, proxyPath] = proxied === null ? [path] : [proxied[1], proxied[2] ?? ''];
  const api = apiPath(segments(own) ?? []);
  if (api === undefined) return other;
  const { isLegacyWatch, namespace } = api;
  const [resource = '', name = '', subresource = '', ...extra] = api.rest;
  if (extra.length > 0) return other;
  const verb = isLegacyWatch ? legacyVerb(method) : verbOf(method, name, query);
  const isCollectionRead = name === '' && (verb === 'list' || verb === 'watch');
  return {
    isResource: true,
    path,
    verb,
    query,
    group: api.group,
    version: api.version,
    resource,
    subresource,
    namespace,
    name: isCollectionRead ? nameFromFieldSelector(query) : name,
    ...(proxyPath === undefined ? {} : { proxyPath }),
  };
}

/** The path that is passed to another program may contain anything, such as empty segments. */
const proxiedPath = /^(\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy)(\/.*)?$/s;

interface ApiPath {
  readonly group: string;
  readonly version: string;
  readonly isLegacyWatch: boolean;
  readonly namespace: string;
  /** Resource, name and subresource. */
  readonly rest: readonly string[];
}

function apiPath([root, ...parts]: readonly string[]): ApiPath | undefined {
  if (root !== 'api' && root !== 'apis') return undefined;
  const [group = '', version = '', ...after] = root === 'api' ? ['', ...parts] : parts;
  if (after.length === 0) return undefined;
  const isLegacyWatch = after[0] === 'watch' && after.length > 1;
  const rest = isLegacyWatch ? after.slice(1) : after;
  const [first, namespace = '', third] = rest;
  if (first !== 'namespaces' || third === undefined || namespaceSubresources.includes(third)) {
    return { group, version, isLegacyWatch, namespace: '', rest };
  }
  return { group, version, isLegacyWatch, namespace, rest: rest.slice(2) };
}

/** Subresources of a Namespace, as opposed to resources in it. */
const namespaceSubresources: readonly string[] = ['status', 'finalize'];

function segments(path: string): string[] | undefined {
  const parts = path.split('/');
  if (parts.shift() !== '') return undefined;
  if (parts.at(-1) === '') parts.pop();
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? '';
    if (part === '') return undefined;
    if (!part.includes('%')) continue;
    try {
      parts[index] = decodeURIComponent(part);
    } catch {
      return undefined; // not UTF-8, so not a valid name
    }
  }
  return parts;
}

const legacyVerb = (method: string): ResourceVerb => (method === 'GET' || method === 'HEAD' ? 'watch' : 'unsupported');

function verbOf(method: string, name: string, query: URLSearchParams): ResourceVerb {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (name !== '') return 'get'; // clients watch one object with a field selector
      return isTrue(query.get('watch')) ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return 'unsupported';
  }
}

/** Whether a query flag is set: present and not `false` or `0`, so `?watch` is true. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value.toLowerCase() !== 'false' && value !== '0';

/** The name in `fieldSelector=metadata.name=x`, which authorization uses, parsed as `parseSelection` does. */
function nameFromFieldSelector(query: URLSearchParams): string {
  const selector = query.get('fieldSelector');
  if (selector === null || !selector.includes('metadata.name')) return '';
  try {
    return parseFieldSelector(selector).find(({ path, equal }) => path === 'metadata.name' && equal)?.value ?? '';
  } catch {
    return ''; // parseSelection rejects it after authorization
  }
}
