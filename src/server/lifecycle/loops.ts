import { runCompactor } from '../../store/compactor.ts';
import { repairClaims } from '../allocate/repair-claims.ts';
import { AggregationLoops } from '../aggregation/loops.ts';
import { RoleAggregation } from '../access/rbac/aggregation.ts';
import type { ServerContext } from '../context.ts';
import { Definitions } from '../custom/definitions.ts';
import { expireEvents } from './event-expiry.ts';
import { NamespaceLifecycle } from './namespaces.ts';
import { PolicyStatus } from './policy-status.ts';
import { PodReaper } from './pod-reaper.ts';
import { repeat } from './repeat.ts';
import { monitorStore } from './store-monitor.ts';

const bookmarkMs = 60_000;
const eventExpiryMs = 60_000;
/** As in kube-apiserver. */
const repairMs = 180_000;
/** A deleted `default/kubernetes` is created again within this time. */
const bootstrapMs = 10_000;

/** The background loops of the server. */
export interface Loops extends AsyncDisposable {
  /** Publishes these certificate authorities in all namespaces. */
  publishCa(ca: string): void;
  /** Publishes the authority of this server's certificate for aggregated servers. */
  publishFrontProxyCa(ca: string): void;
}

/**
 * Starts the loops: namespaces, definitions of custom resources, admission policies, roles, terminated Pods, expired Events, bookmarks, compaction, and initial objects, which
 * `restore` creates again.
 */
export async function startLoops(
  context: ServerContext,
  {
    ca,
    restore,
    managesNamespaces = true,
  }: { readonly ca: string; readonly restore: () => Promise<void>; readonly managesNamespaces?: boolean | undefined },
): Promise<Loops> {
  const { store, log } = context;
  await using stack = new AsyncDisposableStack();
  const stop = new AbortController();
  const compaction = runCompactor({
    store,
    signal: stop.signal,
    onError: (error) => log.warn({ err: error }, 'failed to compact the history, retrying'),
  });
  stack.defer(async () => {
    stop.abort();
    await compaction;
  });
  const every = (ms: number, work: () => Promise<unknown> | void, failed: string): unknown =>
    stack.use(repeat(ms, work, (error) => log.warn({ err: error }, failed)));
  every(bookmarkMs, () => sendBookmarks(context), 'failed to send bookmarks, retrying');
  every(eventExpiryMs, () => expireEvents(context), 'failed to delete expired Events, retrying');
  if (store.isAdopted) every(repairMs, () => repairClaims(context), 'failed to repair claims of Services, retrying');
  every(bootstrapMs, restore, 'failed to restore the initial objects, retrying');
  stack.use(monitorStore(store, log));
  const reaper = new PodReaper(context);
  stack.defer(() => reaper.close());
  const aggregation = new RoleAggregation(context);
  stack.defer(() => aggregation.close());
  await aggregation.start();
  context.quotas.start();
  const policies = new PolicyStatus(context);
  stack.defer(() => policies.close());
  const definitions = new Definitions(context);
  stack.defer(() => definitions.close());
  definitions.start();
  await definitions.settled();
  const aggregated = new AggregationLoops(context, { clientCa: ca, frontProxyCa: context.aggregation.frontProxy?.ca });
  stack.defer(() => aggregated.close());
  await aggregated.start();
  every(bootstrapMs, () => aggregated.restore(), 'failed to restore the authorities for aggregated servers, retrying');
  const namespaces = new NamespaceLifecycle(context, ca);
  stack.defer(() => namespaces.close());
  if (managesNamespaces) namespaces.start();
  const held = stack.move();
  return {
    publishCa(next) {
      if (managesNamespaces) namespaces.publishCa(next);
      aggregated.publish({ clientCa: next });
    },
    publishFrontProxyCa: (next) => aggregated.publish({ frontProxyCa: next }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function sendBookmarks({ watchCache }: ServerContext): void {
  for (const { watchers } of watchCache.caches) for (const watcher of watchers) watcher.progress(watchCache.revision);
}
