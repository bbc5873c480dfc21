import type { StatusError } from '../../api/errors.ts';
import { failure } from '../../api/errors.ts';
import { isMaster } from '../access/authorize.ts';
import type { ServerContext } from '../context.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import { tooManyRequests } from '../limits/flow-control.ts';
import { flowOf, chargedUser } from '../limits/classify.ts';
import type { ApiRequest, Reply, Sink } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { Selection } from '../selection.ts';
import { parseSelection } from '../selection.ts';
import type { ReadOptions } from './read-options.ts';
import { parseWatchOptions, revisionTooLarge } from './read-options.ts';
import { WatchStream } from './watch-stream.ts';

/** Follows the changes of a resource for as long as the client stays. */
export function watch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, presenter }: { readonly request: ApiRequest; readonly presenter: Presenter },
): Reply {
  const flow = flowOf(request);
  if (!context.watches.mayOpen(flow, isMaster(chargedUser(request)))) return tooManyRequests();
  const options = parseWatchOptions(info.query);
  const selection = parseSelection(resource.kind, info.query);
  const key = resource.cache.singleKey(info.namespace, info.name || selection.name);
  const scope = resource.cache.scope(info.namespace);
  resource.cache.requireReadable(key ?? scope);
  return {
    status: 200,
    headers: { 'Content-Type': presenter.contentType, 'Cache-Control': 'no-cache, private' },
    stream: (sink) => start(context, resource, { options, selection, key, scope, presenter, sink, flow }),
  };
}

interface Start {
  readonly options: ReadOptions;
  readonly selection: Selection;
  /** The one key that can match, if the request says so. */
  readonly key: string | undefined;
  readonly scope: string;
  readonly presenter: Presenter;
  readonly sink: Sink;
  readonly flow: string;
}

/**
 * Where a watch begins: without a revision (or with 0) the current objects come first as ADDED; otherwise the changes
 * after that revision do. State and subscription are taken in one go, so nothing falls between them.
 */
function start({ watchCache, flusher, watches, random }: ServerContext, { cache }: Resource, request: Start): void {
  const { options, selection, key, scope } = request;
  const { revision = 0, sendInitialEvents } = options;
  const isResumed = revision > 0 && sendInitialEvents !== true;
  const stream = new WatchStream({
    presenter: request.presenter,
    sink: request.sink,
    scope: key ?? scope,
    exact: key !== undefined,
    watchers: cache.watchers,
    flusher,
    flow: request.flow,
    limits: watches,
    matches: selection.matches,
    bookmarks: options.bookmarks,
    revision: () => watchCache.revision,
    after: isResumed ? revision : 0,
    timeoutMs: timeoutMs(options, random()),
  });
  if (isResumed) {
    const events = cache.since(revision);
    if (events === undefined) stream.fail(expired(revision, cache.floor));
    else stream.resume(events);
  } else if (sendInitialEvents === false) stream.resume([]);
  else {
    // `reached` never rejects; until it resolves nothing has been sent, and a stream that closes stays closed.
    void watchCache.waitForRevision(revision).then((isSeen) => {
      if (!isSeen) stream.fail(revisionTooLarge(revision, watchCache.revision));
      else stream.begin(key === undefined ? cache.walk(scope) : [cache.get(key) ?? []].flat());
    });
  }
}

/** Clients that name no timeout are spread over half an hour, so that they do not all come back at once. */
const timeoutMs = ({ timeoutSeconds }: ReadOptions, random: number): number =>
  (timeoutSeconds || 1800 * (1 + random)) * 1000;

const expired = (revision: number, floor: number): StatusError =>
  failure({ code: 410, reason: 'Expired', message: `too old resource version: ${revision} (${floor})` });
