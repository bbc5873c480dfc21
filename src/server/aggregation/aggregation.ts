import type { WatchCache } from '../cache/watch-cache.ts';
import type { LimitOptions } from '../limits/options.ts';
import { OpenStreams } from '../nodes/open-streams.ts';
import type { FrontProxy } from './backend.ts';
import { RemoteDocuments } from './documents.ts';
import { RemoteVersions } from './remote-versions.ts';

/** What request handlers need to pass requests on to aggregated servers. */
export class Aggregation implements Disposable {
  readonly remotes: RemoteVersions;
  readonly documents: RemoteDocuments;
  /** Requests that aggregated servers have not answered completely. */
  readonly streams: OpenStreams;
  #frontProxy: FrontProxy | undefined;

  constructor(
    watchCache: WatchCache,
    { limits, frontProxy }: { readonly limits: LimitOptions; readonly frontProxy: FrontProxy | undefined },
  ) {
    this.remotes = new RemoteVersions(watchCache);
    this.documents = new RemoteDocuments(this.remotes);
    this.streams = new OpenStreams(limits);
    this.#frontProxy = frontProxy;
  }

  /** How this server proves its identity; undefined: requests have no client certificate. */
  get frontProxy(): FrontProxy | undefined {
    return this.#frontProxy;
  }

  /** Uses another client certificate for new connections. */
  renew(frontProxy: FrontProxy): void {
    this.#frontProxy = frontProxy;
  }

  [Symbol.dispose](): void {
    this.remotes[Symbol.dispose]();
  }
}
