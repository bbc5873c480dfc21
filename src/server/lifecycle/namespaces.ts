import type { Logger } from 'pino';

import { isNotFound } from '../../api/errors.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceAccountKind } from '../../api/kinds/core/serviceaccount/kind.ts';
import { setTimeout } from '../../machine/timers.ts';
import { ensure } from '../bootstrap/bootstrap.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { terminate } from './termination.ts';

const rootCaName = 'kube-root-ca.crt';
const defaultAccount = 'default';
/** The backoff between attempts while content remains. */
const retryMs = { first: 50, most: 5000 };

/**
 * Creates the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` in every namespace, and deletes the content
 * of terminating namespaces.
 */
export class NamespaceLifecycle {
  readonly #context: ServerContext;
  #ca: string;
  readonly #log: Logger;
  readonly #watches = new DisposableStack();
  /** Names to reconcile; each is queued once. */
  readonly #queue = new Set<string>();
  /** name → next backoff */
  readonly #delays = new Map<string, number>();
  /** name → its next attempt */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #working: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(context: ServerContext, ca: string) {
    this.#context = context;
    this.#ca = ca;
    this.#log = context.log.child({ loop: 'namespaces' });
  }

  /** Reconciles all namespaces, and from then on those that change. */
  start(): void {
    const namespaces = this.#context.watchCache.of(namespaceKind);
    const onNamespace = ({ key }: CacheEvent): void => this.#enqueue(key.slice(namespaces.prefix.length));
    this.#watches.use(namespaces.watchers.watch(onNamespace));
    for (const kind of [serviceAccountKind, configMapKind]) {
      const cache = this.#context.watchCache.of(kind);
      const onObject = (event: CacheEvent): void => {
        const [namespace = '', name = ''] = event.key.slice(cache.prefix.length).split('/');
        if (name !== rootCaName && name !== defaultAccount) return;
        if (event.item === undefined || (kind === configMapKind && this.#isOutdated(event.item))) {
          this.#enqueue(namespace);
        }
      };
      this.#watches.use(cache.watchers.watch(onObject));
    }
    this.#enqueueAll();
  }

  /** Publishes these certificate authorities in all namespaces. */
  publishCa(ca: string): void {
    this.#ca = ca;
    this.#enqueueAll();
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watches.dispose();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await this.#working;
  }

  #isOutdated(item: Item): boolean {
    const { data } = item.object as ConfigMap; // the cache of ConfigMaps holds ConfigMaps
    return data?.['ca.crt'] !== this.#ca;
  }

  #enqueueAll(): void {
    const namespaces = this.#context.watchCache.of(namespaceKind);
    for (const item of namespaces.range(namespaces.prefix)) this.#enqueue(item.key.slice(namespaces.prefix.length));
  }

  #enqueue(name: string): void {
    if (this.#isClosed || this.#queue.has(name)) return;
    this.#queue.add(name);
    this.#working = this.#working.then(async () => {
      this.#queue.delete(name);
      if (!this.#isClosed) await this.#process(name);
    });
  }

  async #process(name: string): Promise<void> {
    try {
      const isDone = await this.#reconcile(name);
      if (isDone) this.#delays.delete(name);
      else this.#retry(name);
    } catch (error) {
      if (this.#isClosed) return;
      this.#log.warn({ namespace: name, err: error }, 'failed to reconcile a namespace, retrying');
      this.#retry(name);
    }
  }

  #retry(name: string): void {
    if (this.#timers.has(name)) return;
    const delay = this.#delays.get(name) ?? retryMs.first;
    this.#delays.set(name, Math.min(delay * 2, retryMs.most));
    const retry = (): void => {
      this.#timers.delete(name);
      this.#enqueue(name);
    };
    this.#timers.set(name, setTimeout(retry, delay));
  }

  async #reconcile(name: string): Promise<boolean> {
    const namespaces = this.#context.watchCache.of(namespaceKind);
    const item = namespaces.get(namespaces.key('', name));
    if (item === undefined) return true;
    if (item.object.metadata.deletionTimestamp !== undefined) {
      return terminate(this.#context, name).catch((error: unknown) => {
        if (isNotFound(error)) return true; // another server was faster
        throw error;
      });
    }
    await this.#ensureContent(name);
    return true;
  }

  async #ensureContent(namespace: string): Promise<void> {
    await ensure(this.#context, {
      kind: serviceAccountKind,
      namespace,
      content: { metadata: { name: defaultAccount } },
    });
    await ensure(this.#context, {
      kind: configMapKind,
      namespace,
      isKept: true,
      content: {
        metadata: {
          name: rootCaName,
          annotations: { 'kubernetes.io/description': 'The certificate authority that signed the API server.' },
        },
        data: { 'ca.crt': this.#ca },
      },
    });
  }
}
