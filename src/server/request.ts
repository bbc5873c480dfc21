/** What a request asks for, read from its method and URL alone. */
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
 * Reads the URL grammar of Kubernetes:
 *
 *     /api/{version}/…  and  /apis/{group}/{version}/…  followed by
 *     [watch/] [namespaces/{namespace}/] {resource} [/{name} [/{subresource}]]
 *
 * Anything else, and the discovery documents themselves, is a non-resource request. A segment that does not decode,
 * or that is empty, makes the URL a non-resource one too, so that no trick of encoding reaches an object.
 */
export function parseRequest(method: string, url: string): RequestInfo {
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const query = question < 0 ? noQuery : new URLSearchParams(url.slice(question + 1));
  const other: NonResourceRequest = { isResource: false, path, verb: method.toLowerCase(), query };

  const parts = segments(path);
  if (parts === undefined) return other;
  const core = parts[0] === 'api';
  if (!core && parts[0] !== 'apis') return other;
  const group = core ? '' : (parts[1] ?? '');
  const version = parts[core ? 1 : 2];
  let rest = parts.slice(core ? 2 : 3);
  if (version === undefined || rest.length === 0) return other;

  let legacyWatch = false;
  if (rest[0] === 'watch' && rest.length > 1) {
    legacyWatch = true;
    rest = rest.slice(1);
  }

  let namespace = '';
  const third = rest[2];
  if (rest[0] === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize') {
    namespace = rest[1] ?? '';
    rest = rest.slice(2);
  }
  const [resource = '', name = '', subresource = '', ...extra] = rest;
  if (extra.length > 0) return other;
  const verb = legacyWatch ? 'watch' : verbOf(method, name, query);
  const selected = name === '' && (verb === 'list' || verb === 'watch') ? selectedName(query) : '';
  return {
    isResource: true,
    path,
    verb,
    query,
    group,
    version,
    resource,
    subresource,
    namespace: resource === 'namespaces' && namespace === '' ? '' : namespace,
    name: name === '' && legacyWatch ? '' : name || selected,
  };
}

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
      return undefined; // not UTF-8: no object can have this name
    }
  }
  return parts;
}

function verbOf(method: string, name: string, query: URLSearchParams): ResourceVerb {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isTrue(query.get('watch'))) return name === '' ? 'watch' : 'watch';
      return name === '' ? 'list' : 'get';
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

/** Present and not `false` or `0`: so a bare `?watch` watches. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value.toLowerCase() !== 'false' && value !== '0';

/** `fieldSelector=metadata.name=x` names an object, which access rules go by. */
function selectedName(query: URLSearchParams): string {
  return /(?:^|,)metadata\.name==?([^,\\=]+)(?:,|$)/.exec(query.get('fieldSelector') ?? '')?.[1] ?? '';
}
