// The dashboard as a part: watches the clusters, and serves the page.
import type { PartContext, RunningPart } from '../client/part.ts';
import { ClusterSet } from './answers/cluster-set.ts';
import { WebServer } from './http/web-server.ts';
import { dashboardMetrics } from './metrics.ts';
import type { DashboardOptions } from './options.ts';
import { Board } from './server/board.ts';

/** Starts the dashboard. It is ready when it listens; clusters that cannot be read are shown as such. */
export function startDashboard({ log, metrics }: PartContext, options: DashboardOptions): RunningPart {
  const { clusters, isEager } = options;
  const clients = clusters.map(({ connect, ...cluster }) => ({ ...cluster, client: connect() }));
  let board: Board | undefined;
  const boardOf = (): Board => (board ??= new Board({ clusters: clients, log }));
  if (isEager) boardOf();
  const set = new ClusterSet(clusters, options.set);
  const web = new WebServer({ ...options, board: boardOf, set, log });
  dashboardMetrics(metrics, web);
  const ready = web.listen();
  ready.catch(() => undefined); // callers need not wait: the runner of the part reports it
  return {
    ready,
    get pageUrl() {
      return web.port === 0 ? undefined : web.url;
    },
    problems: () => [],
    async [Symbol.asyncDispose]() {
      await web[Symbol.asyncDispose]();
      await set[Symbol.asyncDispose]();
      await board?.[Symbol.asyncDispose]();
      for (const { client } of clients) client[Symbol.dispose]();
    },
  };
}
