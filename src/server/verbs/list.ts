import { failure, StatusError } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { CompactedError } from '../../store/errors.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import { presentedHeaders } from '../reply.ts';
import type { ServerContext } from '../context.ts';
import type { ListMeta, Presenter } from '../negotiate/presenter.ts';
import type { ApiRequest, ListReply } from '../reply.ts';
import { flowOf } from '../limits/classify.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { Selection } from '../selection.ts';
import { parseSelection } from '../selection.ts';
import { decodeToken, encodeToken } from './continue-token.ts';
import type { ReadOptions } from './read-options.ts';
import { parseListOptions, revisionTooLarge } from './read-options.ts';

interface Page {
  readonly items: Iterable<Item>;
  readonly revision: number;
  /** The key after the last item, if more items follow. */
  readonly next: string | undefined;
  readonly remaining: number;
}

/** What a page selects, and from which revision. */
interface PageSource {
  readonly revision: number;
  readonly scope: string;
  readonly from: string;
  readonly limit: number;
  readonly selection: Selection;
  /** The only key that can match, if the request names one. */
  readonly onlyKey: string | undefined;
  /** Awaited between two slices of a selection. */
  readonly yieldTurn: () => Promise<void>;
  /** Converts the items to the requested version, if a webhook does that. */
  readonly prepare: (items: readonly Item[]) => Promise<void>;
  /** Whether `prepare` does anything. */
  readonly isConverted: boolean;
}

/** Characters of objects that a selection reads before other requests run. */
const sliceLength = 256 << 10;
/** Entries that are read from the store in one range. */
const chunkEntries = 500;

export async function list(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, presenter }: { readonly request: ApiRequest; readonly presenter: Presenter },
): Promise<ListReply> {
  const options = parseListOptions(info.query);
  const selection = parseSelection(resource.kind, info.query);
  const { inVersion } = presenter;
  const page = await readPage(context, resource, { namespace: info.namespace, options, selection, request, inVersion });
  return {
    status: 200,
    headers: presentedHeaders(presenter.contentType),
    list: presenter.list(page.items, metaOf(page, resource, selection)),
  };
}

/** A page of the resource; consistent across pages. */
export async function readPage(
  context: ServerContext,
  resource: Resource,
  query: {
    readonly namespace: string;
    readonly options: ReadOptions;
    readonly selection: Selection;
    readonly request: ApiRequest;
    /** The kind to whose version a webhook must convert the items, if any. */
    readonly inVersion: Kind | undefined;
  },
): Promise<Page> {
  const { options, selection } = query;
  const { cache } = resource;
  const scope = cache.scope(query.namespace);
  const limit = options.limit > 0 ? options.limit : Infinity;
  const onlyKey = cache.singleKey(query.namespace, selection.name);
  const flow = flowOf(query.request);
  const yieldTurn = (): Promise<void> => context.flusher.turn(flow);
  const inVersion = query.inVersion ?? selection.inVersion;
  const base = {
    scope,
    from: scope,
    limit,
    selection,
    onlyKey,
    yieldTurn,
    prepare: (items: readonly Item[]) => context.conversions.prepare(inVersion, items),
    isConverted: inVersion !== undefined,
  };

  if (options.continue !== '') {
    const token = decodeToken(options.continue);
    const from = cache.prefix + token.start;
    const revision = token.revision < 0 ? context.watchCache.revision : token.revision;
    return atRevision(context, resource, { ...base, revision, from: from < scope ? scope : from }, true);
  }
  const { revision = 0 } = options;
  if (!(await context.watchCache.waitForRevision(revision)))
    throw revisionTooLarge(revision, context.watchCache.revision);
  const isExact = options.match === 'Exact' || (options.match === undefined && revision > 0 && limit !== Infinity);
  if (isExact) return atRevision(context, resource, { ...base, revision }, false);
  // resourceVersion=0 accepts any revision; as in Kubernetes the limit is then ignored.
  const whole = options.revision === 0 ? { ...base, limit: Infinity } : base;
  return fromCache(resource, { ...whole, revision: context.watchCache.revision });
}

/** A page at a revision: from the cache if the resource has not changed since, else from the store. */
async function atRevision(
  context: ServerContext,
  resource: Resource,
  source: PageSource,
  isContinuation: boolean,
): Promise<Page> {
  if (source.revision > context.watchCache.revision)
    throw revisionTooLarge(source.revision, context.watchCache.revision);
  if (resource.cache.lastChangeRevision <= source.revision) return fromCache(resource, source);
  try {
    return await fromStore(context, resource, source);
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error;
    throw isContinuation ? expiredToken(resource, source) : expiredRevision(source.revision);
  }
}

async function fromCache({ cache }: Resource, source: PageSource): Promise<Page> {
  const { scope, revision, limit, selection, yieldTurn } = source;
  // As in Kubernetes: a client would take an omitted object for deleted.
  cache.requireReadable(source.onlyKey ?? scope);
  if (selection.matches === undefined) {
    if (limit === Infinity && !source.isConverted)
      return { items: cache.walk(scope, source.from), revision, next: undefined, remaining: 0 };
    const items = cache.range(scope, source.from, limit);
    const last = items.at(-1);
    const remaining = last === undefined ? 0 : cache.count(scope, `${last.key}\0`);
    await source.prepare(items);
    return { items, revision, next: remaining > 0 ? nextKey(last) : undefined, remaining };
  }
  // Iterates over a snapshot, so changes between slices have no effect.
  let found = candidates(cache, source);
  if (source.isConverted) {
    const all = [...found];
    await source.prepare(all);
    found = all;
  }
  const items: Item[] = [];
  let read = 0;
  for (const item of found) {
    read += item.entry.value.length;
    if (read > sliceLength) {
      await yieldTurn();
      read = 0;
    }
    if (!selection.matches(item)) continue;
    if (items.length === limit) return { items, revision, next: nextKey(items.at(-1)), remaining: 0 };
    items.push(item);
  }
  return { items, revision, next: undefined, remaining: 0 };
}

/** The items that can match: one if the selector names an object. */
function candidates(cache: ResourceCache, { onlyKey, scope, from }: PageSource): Iterable<Item> {
  if (onlyKey === undefined) return cache.walk(scope, from);
  return onlyKey < from ? [] : [cache.get(onlyKey) ?? []].flat();
}

async function fromStore(context: ServerContext, { cache }: Resource, source: PageSource): Promise<Page> {
  const { scope, revision, limit, selection, yieldTurn } = source;
  const items: Item[] = [];
  let from = source.from;
  for (;;) {
    const chunk = await context.store.range(scope, {
      revision,
      from,
      limit: selection.matches === undefined ? Math.min(limit, chunkEntries) : chunkEntries,
    });
    const read = chunk.entries.map((entry) => cache.item(entry));
    await source.prepare(read);
    for (const [index, item] of read.entries()) {
      if (item.problem !== undefined) throw item.problem;
      if (selection.matches?.(item) === false) continue;
      items.push(item);
      if (items.length < limit) continue;
      const remaining = chunk.remaining + chunk.entries.length - index - 1;
      return { items, revision, next: remaining > 0 ? nextKey(item) : undefined, remaining };
    }
    const last = chunk.entries.at(-1);
    if (!chunk.more || last === undefined) return { items, revision, next: undefined, remaining: 0 };
    from = `${last.key}\0`;
    await yieldTurn();
  }
}

const nextKey = (last: Item | undefined): string | undefined => (last === undefined ? undefined : `${last.key}\0`);

function metaOf(page: Page, { cache }: Resource, selection: Selection): ListMeta {
  if (page.next === undefined) return { resourceVersion: String(page.revision) };
  return {
    resourceVersion: String(page.revision),
    continue: encodeToken({ revision: page.revision, start: page.next.slice(cache.prefix.length) }),
    ...(selection.matches === undefined ? { remainingItemCount: page.remaining } : {}),
  };
}

const expiredRevision = (revision: number): StatusError =>
  failure({
    code: 410,
    reason: 'Expired',
    message: `The resourceVersion for the provided list is too old: ${revision}. List again without resourceVersion.`,
  });

/** The error for a compacted token; its new token continues at the same key in the current state. */
function expiredToken({ cache }: Resource, source: PageSource): StatusError {
  const { status } = failure({
    code: 410,
    reason: 'Expired',
    message:
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
  });
  const token = encodeToken({ revision: -1, start: source.from.slice(cache.prefix.length) });
  return new StatusError({ ...status, metadata: { continue: token } });
}
