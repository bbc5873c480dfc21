import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { Client } from '../../../client/client.ts';
import { overHttps } from '../../../client/https.ts';
import { issue } from '../../../server/pki/issue.ts';
import type { ServerOptions } from '../../../server/server.ts';
import type { HttpsServer } from '../../../server/testing/https-server.ts';
import { startHttpsServer, testCa } from '../../../server/testing/https-server.ts';
import type { NodeServer } from '../../pods/runtime.ts';
import { startServer } from '../server.ts';
import type { TestContainer } from './processes.ts';
import { TestRuntime } from './processes.ts';

/** An API server, and the server of the node `node`. */
export interface TestCluster extends AsyncDisposable {
  readonly api: HttpsServer;
  readonly node: NodeServer;
  readonly runtime: TestRuntime;
  readonly client: Client;
  readonly directory: string;
  /** A kubeconfig file of an administrator. */
  readonly kubeconfig: string;
  /** Creates a Pod and runs its containers on the node. */
  createPod(name: string, containers: readonly TestContainer[]): Promise<void>;
}

export async function startTestCluster(more: Partial<ServerOptions> = {}): Promise<TestCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-streams-'));
  const ca = await testCa('test-ca');
  const validity = { now: new Date(), days: 1 };
  const subject = { use: 'client', commonName: 'kube-apiserver-kubelet-client', groups: ['system:masters'] } as const;
  const { cert, key } = await issue(ca, subject, validity);
  const api = await startHttpsServer({ nodeClient: { cert, key }, ...more }, ca);
  const { url } = api.server;
  const client = new Client(overHttps({ server: url, ca: ca.cert, credentials: async () => ({ token: 'secret' }) }));
  const runtime = new TestRuntime();
  const node = await startServer({
    runtime,
    client,
    nodeName: 'node',
    addresses: ['127.0.0.1'],
    listen: { address: '127.0.0.1', port: 0 },
    tls: undefined,
    clientCa: ca.cert,
    directory,
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  const created = await client.create(nodeKind, { metadata: { name: 'node' } } as unknown as Node);
  const status = {
    ...created.status,
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: node.port } },
  };
  await client.update(nodeKind, { ...created, status } as unknown as Node, { subresource: 'status' });
  const kubeconfig = join(directory, 'kubeconfig');
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': base64(ca.cert) } }],
      users: [{ name: 'admin', user: { token: 'secret' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      'current-context': 'test',
    }),
  );
  return {
    api,
    node,
    runtime,
    client,
    directory,
    kubeconfig,
    async createPod(name, containers) {
      const spec = {
        nodeName: 'node',
        containers: containers.map((container) => ({ name: container.name, image: 'process' })),
      };
      const metadata = { namespace: 'default', name };
      // Defaults complete the object.
      const created = await client.create(podKind, { metadata, spec, status: {} } as unknown as Pod);
      const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
      const status = {
        phase: 'Running',
        podIP: '127.0.0.1',
        podIPs: [{ ip: '127.0.0.1' }],
        containerStatuses: containers.map((container) => ({
          name: container.name,
          image: 'process',
          imageID: '',
          ready: true,
          started: true,
          restartCount: 0,
          state: running,
          lastState: {},
        })),
      };
      await client.update(podKind, { ...created, status } as unknown as Pod, { subresource: 'status' });
      const { uid = '' } = created.metadata;
      runtime.add({ namespace: 'default', name, uid }, containers);
    },
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
