import { failure } from '../../api/errors.ts';
import type { ServerContext } from '../context.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import type { Reply, Sink } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { Selection } from '../selection.ts';
import { parseSelection } from '../selection.ts';
import type { ReadOptions } from './read-options.ts';
import { parseWatchOptions } from './read-options.ts';
import { WatchStream } from './watch-stream.ts';

/** Follows the changes of a resource for as long as the client stays. */
export function watch(context: ServerContext, resource: Resource, info: ResourceRequest, presenter: Presenter): Reply {
  const options = parseWatchOptions(info.query);
  const selection = parseSelection(resource.kind, info.query);
  const name = info.name || selection.name;
  const scope = scopeOf(resource, info.namespace, name);
  return {
    status: 200,
    headers: { 'Content-Type': presenter.contentType, 'Cache-Control': 'no-cache, private' },
    stream: (sink) => start(context, resource, { options, selection, scope, presenter, sink }),
  };
}

interface Scope {
  readonly prefix: string;
  /** The prefix is a whole key. */
  readonly exact: boolean;
}

function scopeOf({ cache, kind }: Resource, namespace: string, name: string | undefined): Scope {
  const isOneObject = name !== undefined && name !== '' && (namespace !== '' || !kind.namespaced);
  if (isOneObject) return { prefix: cache.key(namespace, name), exact: true };
  return { prefix: cache.scope(namespace), exact: false };
}

interface Start {
  readonly options: ReadOptions;
  readonly selection: Selection;
  readonly scope: Scope;
  readonly presenter: Presenter;
  readonly sink: Sink;
}

/**
 * Where a watch begins: without a revision (or with 0) the current objects come first as ADDED; otherwise the changes
 * after that revision do. State and subscription are taken in one go, so nothing falls between them.
 */
function start(context: ServerContext, { cache }: Resource, request: Start): void {
  const { options, scope, sink } = request;
  const stream = new WatchStream({
    ...request,
    scope: scope.prefix,
    exact: scope.exact,
    watchers: cache.watchers,
    flusher: context.flusher,
    matches: request.selection.matches,
    bookmarks: options.bookmarks,
    timeoutMs: timeoutMs(options, context.random()),
  });
  const { revision = 0, sendInitialEvents } = options;
  if (revision > 0 && sendInitialEvents !== true) {
    const events = cache.since(revision);
    if (events === undefined) stream.fail(expired(revision, cache.floor));
    else stream.resume(events);
    return;
  }
  if (sendInitialEvents === false) {
    stream.resume([]);
    return;
  }
  const begin = (): void => {
    const items = scope.exact ? [cache.get(scope.prefix) ?? []].flat() : cache.range(scope.prefix);
    stream.begin(items, () => context.hub.revision, sendInitialEvents === true || options.bookmarks);
  };
  if (context.hub.revision >= revision) begin();
  else void context.hub.reached(revision, 3000).then(begin); // a revision never reached still gets the newest state
  sink.onClose(() => stream.close());
}

/** Clients that name no timeout are spread over half an hour, so that they do not all come back at once. */
const timeoutMs = ({ timeoutSeconds }: ReadOptions, random: number): number =>
  (timeoutSeconds ?? 1800 * (1 + random)) * 1000;

const expired = (revision: number, floor: number): string =>
  JSON.stringify(
    failure({
      code: 410,
      reason: 'Expired',
      message: `too old resource version: ${revision} (${floor})`,
    }).status,
  );
