import type { StatusError } from '../../api/errors.ts';
import { failure, internalError, isStatusError } from '../../api/errors.ts';
import { messageOf } from '../../api/error-message.ts';
import { isMaster } from '../access/authorize.ts';
import { presentedHeaders } from '../reply.ts';
import type { Item } from '../cache/item.ts';
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
import { ConvertedWatch, itemsOf } from './converted-watch.ts';
import { WatchStream } from './watch-stream.ts';

/** Streams the changes of a resource until the client disconnects or the timeout is reached. */
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
    headers: presentedHeaders(presenter.streamType),
    stream: (sink) => start(context, resource, { options, selection, key, scope, presenter, sink, flow }),
  };
}

interface Start {
  readonly options: ReadOptions;
  readonly selection: Selection;
  /** The only key that can match, if the request names one. */
  readonly key: string | undefined;
  readonly scope: string;
  readonly presenter: Presenter;
  readonly sink: Sink;
  readonly flow: string;
}

/**
 * Starts a watch: without a revision (or with 0) it sends the current objects as ADDED first, otherwise the changes after
 * that revision. State and subscription are taken in the same tick, so no change is missed.
 */
function start(context: ServerContext, { cache }: Resource, request: Start): void {
  const { watchCache, flusher, watches, random, conversions } = context;
  const { options, selection, key, scope, presenter } = request;
  const { revision = 0, sendInitialEvents } = options;
  const isResumed = revision > 0 && sendInitialEvents !== true;
  const inVersion = presenter.inVersion ?? selection.inVersion;
  const range = { scope: key ?? scope, exact: key !== undefined };
  const fail = (error: unknown): void => stream.fail(isStatusError(error) ? error : internalError(messageOf(error)));
  const converted =
    inVersion &&
    new ConvertedWatch({
      ...range,
      watchers: cache.watchers,
      revision: () => watchCache.revision,
      prepare: (items) => conversions.prepare(inVersion, items),
      onError: fail,
    });
  /** Begins once a webhook has converted the items, if one does. Changes since the call are not missed. */
  const afterConversion = (items: () => Iterable<Item>, begin: () => void): void => {
    if (converted === undefined) {
      begin();
      return;
    }
    converted.open();
    conversions.prepare(inVersion, items()).then(begin, fail);
  };
  const stream = new WatchStream({
    presenter,
    sink: request.sink,
    ...range,
    watchers: converted ?? cache.watchers,
    flusher,
    flow: request.flow,
    limits: watches,
    matches: selection.matches,
    bookmarks: options.bookmarks,
    revision: () => converted?.revision ?? watchCache.revision,
    seenRevision: isResumed ? revision : 0,
    timeoutMs: timeoutMs(options, random()),
  });
  if (isResumed) {
    const events = cache.since(revision);
    if (events === undefined) stream.fail(expired(revision, cache.floor));
    else
      afterConversion(
        () => itemsOf(events.filter(({ key: each }) => each.startsWith(range.scope))),
        () => stream.resume(events),
      );
  } else if (sendInitialEvents === false)
    afterConversion(
      () => [],
      () => stream.resume([]),
    );
  else {
    // Never rejects; nothing is sent before it resolves, and a closed stream stays closed.
    void watchCache.waitForRevision(revision).then((isReached) => {
      if (!isReached) {
        stream.fail(revisionTooLarge(revision, watchCache.revision));
        return;
      }
      const found = key === undefined ? cache.walk(scope) : [cache.get(key) ?? []].flat();
      const items = converted === undefined ? found : [...found]; // read twice
      afterConversion(
        () => items,
        () => stream.begin(items),
      );
    });
  }
}

/** Default timeouts are spread over half an hour, so that clients do not all reconnect at once. */
const timeoutMs = ({ timeoutSeconds }: ReadOptions, random: number): number =>
  (timeoutSeconds || 1800 * (1 + random)) * 1000;

const expired = (revision: number, floor: number): StatusError =>
  failure({ code: 410, reason: 'Expired', message: `too old resource version: ${revision} (${floor})` });
