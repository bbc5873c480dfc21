import { apiServiceKind } from '../../api/kinds/apiregistration/apiservice/kind.ts';
import type { ApiService } from '../../api/kinds/apiregistration/apiservice/schema.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { WatchCache } from '../cache/watch-cache.ts';

/** A version of a group that another server serves. */
export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  readonly apiService: ApiService;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
}

/** The version that an APIService delegates to a Service; undefined if this server itself serves it. */
function remoteVersionOf(apiService: ApiService): RemoteVersion | undefined {
  const { group = '', version = '', service } = apiService.spec;
  // The core group stays here: without it, nothing in the cluster works, including its repair.
  if (service === undefined || group === '') return undefined;
  const { namespace = '', name = '', port = 443 } = service;
  return { group, version, apiService, service: { namespace, name, port } };
}

/** The versions of groups that other servers serve, as the APIServices have them now. */
export class RemoteVersions implements Disposable {
  readonly #watch: Disposable;
  /** `group/version` → the version */
  readonly #byPath = new Map<string, RemoteVersion>();
  /** The name of an APIService → its path */
  readonly #paths = new Map<string, string>();
  readonly #listeners = new Set<(name: string) => void>();
  readonly #prefix: string;

  constructor(watchCache: WatchCache) {
    const cache = watchCache.of(apiServiceKind);
    this.#prefix = cache.prefix;
    this.#watch = cache.watchers.watch(({ key, item, previous }) => {
      const next = item?.problem === undefined ? (item?.object as ApiService | undefined) : undefined; // of its cache
      this.#set(key, next);
      // The status is what the listeners write.
      if (equalJson(next?.spec, (previous?.object as ApiService | undefined)?.spec)) return;
      for (const listener of this.#listeners) listener(this.#nameIn(key));
    });
    for (const { key, object, problem } of cache.range(cache.prefix)) {
      if (problem === undefined) this.#set(key, object as ApiService);
    }
  }

  get isEmpty(): boolean {
    return this.#byPath.size === 0;
  }

  get all(): readonly RemoteVersion[] {
    return [...this.#byPath.values()];
  }

  at(group: string, version: string): RemoteVersion | undefined {
    return this.#byPath.get(`${group}/${version}`);
  }

  /** The version of an APIService. */
  named(name: string): RemoteVersion | undefined {
    return this.#byPath.get(this.#paths.get(name) ?? '');
  }

  /** The version that a path belongs to, such as `/apis/metrics.k8s.io/v1beta1/nodes`. */
  ofPath(path: string): RemoteVersion | undefined {
    if (this.#byPath.size === 0 || !path.startsWith('/apis/')) return undefined;
    const [, , group = '', version = ''] = path.split('/', 4);
    return this.at(group, version);
  }

  /** Calls `listener` with the name of each APIService whose spec changes. */
  onChange(listener: (name: string) => void): void {
    this.#listeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#listeners.clear();
  }

  #nameIn(key: string): string {
    return key.slice(this.#prefix.length);
  }

  #set(key: string, apiService: ApiService | undefined): void {
    const name = this.#nameIn(key);
    const before = this.#paths.get(name);
    if (before !== undefined) this.#byPath.delete(before);
    this.#paths.delete(name);
    const remote = apiService === undefined ? undefined : remoteVersionOf(apiService);
    if (remote === undefined) return;
    const path = `${remote.group}/${remote.version}`;
    this.#paths.set(name, path);
    this.#byPath.set(path, remote);
  }
}
