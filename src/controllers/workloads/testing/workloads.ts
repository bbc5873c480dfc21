// A server with all controllers, ready nodes and a simulated agent, for tests of workloads.
import { eventKind } from '../../../api/kinds/core/event/kind.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { Client } from '../../../client/client.ts';
import { inProcess } from '../../../client/in-process.ts';
import { testServer } from '../../../server/testing/server.ts';
import type { Fate, TestAgent } from '../../testing/agent.ts';
import { readyNode, startAgent } from '../../testing/agent.ts';
import { TestCluster } from '../../testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

export interface WorkloadsOptions {
  /** Names of ready nodes; default: n1. */
  readonly nodes?: readonly string[];
  readonly fate?: (pod: Pod) => Fate;
}

/** A running cluster. */
export interface Workloads extends AsyncDisposable {
  readonly user: Client;
  readonly cluster: TestCluster;
  readonly agent: TestAgent;
  /** The Pods of a namespace with a label selector. */
  pods(labelSelector: string): Promise<readonly Pod[]>;
  /** The reasons of the Events about an object, sorted. */
  reasons(kind: string): Promise<readonly string[]>;
}

export const namespace = 'default';

/** Starts a cluster; its namespace for tests is `default`. */
export async function startWorkloads({ nodes = ['n1'], fate }: WorkloadsOptions = {}): Promise<Workloads> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await testServer());
  const cluster = new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));
  for (const node of nodes) await readyNode(cluster.user, node);
  const agent = stack.use(startAgent({ client: cluster.user, ...(fate === undefined ? {} : { fate }) }));
  const running = stack.use(cluster.start({ controllers: ['*', 'workloads'] }));
  await running.ready;
  const held = stack.move();
  return {
    user: cluster.user,
    cluster,
    agent,
    pods: async (labelSelector) => (await cluster.user.list(podKind, { namespace, labelSelector })).items,
    async reasons(kind) {
      const { items } = await cluster.user.list(eventKind, { namespace });
      const about = items.filter(({ involvedObject }) => involvedObject.kind === kind);
      return about.map(({ reason = '' }) => reason).toSorted();
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/** A template of Pods with the label `app`. */
export const templateOf = (app: string, image = 'web:1', spec: object = {}): object => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image }], ...spec },
});
