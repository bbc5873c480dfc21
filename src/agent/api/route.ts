// What a request to the server of a node addresses. Pure.

/** A request for a Pod of this node. */
export interface PodRoute {
  readonly namespace: string;
  readonly pod: string;
  /** '' for any Pod of that name. */
  readonly uid: string;
  /** '' where the route has none. */
  readonly container: string;
}

export type Route =
  | ({ readonly type: 'exec' | 'attach' | 'portForward' | 'logs' } & PodRoute)
  | { readonly type: 'pods' | 'healthz' | 'metrics' | 'resourceMetrics' | 'summary' };

const plain: Readonly<Record<string, 'pods' | 'healthz' | 'metrics' | 'resourceMetrics' | 'summary'>> = {
  '/pods': 'pods',
  '/healthz': 'healthz',
  '/metrics': 'metrics',
  '/metrics/resource': 'resourceMetrics',
  '/stats/summary': 'summary',
};

/** The route of a path; undefined: it is not served. The paths are those of a kubelet. */
export function routeOf(path: string): Route | undefined {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const type = Object.hasOwn(plain, trimmed) ? plain[trimmed] : undefined;
  if (type !== undefined) return { type };
  const parts = decoded(trimmed.split('/').slice(1));
  if (parts === undefined || parts.includes('')) return undefined;
  const [root = '', namespace = '', pod = '', third = '', fourth] = parts;
  switch (root) {
    case 'exec':
    case 'attach':
      if (parts.length === 4) return { type: root, namespace, pod, uid: '', container: third };
      return parts.length === 5 ? { type: root, namespace, pod, uid: third, container: fourth ?? '' } : undefined;
    case 'portForward':
      if (parts.length !== 3 && parts.length !== 4) return undefined;
      return { type: root, namespace, pod, uid: third, container: '' };
    case 'containerLogs':
      return parts.length === 4 ? { type: 'logs', namespace, pod, uid: '', container: third } : undefined;
    default:
      return undefined;
  }
}

function decoded(parts: readonly string[]): readonly string[] | undefined {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** A permission on the Node that a request needs. */
export interface Permission {
  readonly verb: string;
  readonly subresource: string;
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/**
 * The permissions that a request needs: one of each list. Paths have fine-grained subresources as in Kubernetes 1.35, with
 * `nodes/proxy` as the alternative of some. A stream needs `create` even when it is a GET, as that of a WebSocket is:
 * otherwise a user who may only read could run commands.
 */
export function permissionsOf(method: string, path: string): readonly (readonly Permission[])[] {
  const verb = verbs[method] ?? '';
  const alternatives = subresourcesOf(path);
  const needed = [alternatives.map((subresource) => ({ verb, subresource }))];
  if (verb !== 'create' && streamRoots.some((root) => isBelow(path, root))) {
    needed.push([{ verb: 'create', subresource: 'proxy' }]);
  }
  return needed;
}

const streamRoots = ['/exec', '/attach', '/portForward', '/run'];

function subresourcesOf(path: string): readonly string[] {
  if (isBelow(path, '/pods') || isBelow(path, '/runningpods')) return ['pods', 'proxy'];
  if (isBelow(path, '/healthz')) return ['healthz', 'proxy'];
  if (isBelow(path, '/configz')) return ['configz', 'proxy'];
  if (isBelow(path, '/stats')) return ['stats'];
  if (isBelow(path, '/metrics')) return ['metrics'];
  if (isBelow(path, '/logs')) return ['log'];
  return ['proxy'];
}

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);
