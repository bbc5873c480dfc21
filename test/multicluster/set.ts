// A set of independent clusters: each is a `fairlead up` process whose Pods are processes, and a controller joins them.

import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts';
import type { Node } from '../../src/api/kinds/core/node/schema.ts';
import { podKind } from '../../src/api/kinds/core/pod/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import type { ServiceSpec } from '../../src/api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess, root } from '../harness/process.ts';

/** The lease of a source. */
export const leaseMs = 3000;

/** A cluster and its addresses. */
export interface Place {
  readonly id: string;
  readonly region: string;
  readonly zone: string;
}

interface Start {
  readonly directory: string;
  readonly number: number;
  readonly settings: Readonly<Record<string, object>>;
}

/** One cluster. */
export class SetCluster implements AsyncDisposable {
  readonly place: Place;
  readonly client: Client;
  readonly #up: Fairlead;
  readonly #network: string;
  readonly #pods = new Map<string, ChildProcess>();

  private constructor(place: Place, { up, client, network }: { up: Fairlead; client: Client; network: string }) {
    this.place = place;
    this.#up = up;
    this.client = client;
    this.#network = network;
  }

  /** Starts it with one node and the namespace `shop`; `number` selects its address ranges. */
  static async start(place: Place, { directory, number, settings: more }: Start): Promise<SetCluster> {
    const { id, region, zone } = place;
    const config = join(directory, 'config.yaml');
    const settings = { proxy: { 'hostname-override': `${id}-1`, 'cluster-id': id }, ...more };
    await writeFile(config, JSON.stringify(settings));
    const parts = 'server,controllers,dns,proxy,loadbalancer,reaper';
    const services = `127.64.${number}.0/24`;
    const flags = ['--cluster', id, '--store', 'memory', '--parts', parts, '--service-cluster-ip-range', services];
    const up = await startFairlead(directory, ['up', ...flags, '--config', config, '--log-level', 'silent']);
    const client = new Client(overHttps(await readKubeconfig({ paths: [up.kubeconfig] })));
    const labels: Record<string, string> = {
      'topology.kubernetes.io/zone': zone,
      'topology.kubernetes.io/region': region,
    };
    await client.create(nodeKind, { metadata: { name: `${id}-1`, labels } } as Node);
    const cluster = new SetCluster(place, { up, client, network: `127.192.${number}` });
    await cluster.namespace('shop');
    return cluster;
  }

  /** A loopback address of its own; the first ones are of Pods. */
  address(number: number): string {
    return `${this.#network}.${number}`;
  }

  async namespace(name: string): Promise<void> {
    await this.client.create(namespaceKind, { metadata: { name }, spec: {}, status: {} });
  }

  get member(): object {
    const { id, region } = this.place;
    const superclusterCIDRs = [`${this.#network.replace('.192.', '.128.')}.0/24`];
    return { id, region, kubeconfig: this.#up.kubeconfig, superclusterCIDRs, endpointCIDRs: ['127.192.0.0/16'] };
  }

  /** The process of the control plane and the proxy. */
  get pid(): number {
    return this.#up.process.pid;
  }

  get kubeconfig(): string {
    return this.#up.kubeconfig;
  }

  /** Creates a Service with one Pod, a process that answers with the id of its cluster. */
  async serve(name: string, spec: Partial<ServiceSpec> = {}, annotations: Record<string, string> = {}): Promise<void> {
    const metadata = { namespace: 'shop', name, annotations };
    const ports = [{ name: 'http', port: 8080 }];
    await this.client.create(serviceKind, {
      metadata,
      spec: { selector: { app: name }, ports, ...spec },
      status: { loadBalancer: {} },
    });
    const address = this.address(this.#pods.size + 1);
    const child = fork(join(root, 'src/cli/up/demo/backend.ts'), [this.place.id, address]);
    this.#pods.set(name, child);
    await answers(`http://${address}:8080/`, child);
    const containers = [{ name: 'c', image: 'example.org/c', resources: {} }];
    const pod = { namespace: 'shop', name: `${name}-1` };
    await this.client.create(podKind, {
      metadata: { ...pod, labels: { app: name } },
      spec: { nodeName: `${this.place.id}-1`, containers },
      status: {},
    });
    const conditions = [{ type: 'Ready', status: 'True' as const }];
    const status = { phase: 'Running' as const, podIP: address, podIPs: [{ ip: address }], conditions };
    await this.client.patch(podKind, pod, { body: { status }, subresource: 'status' });
  }

  async export(name: string): Promise<void> {
    await this.client.create(superclusterExportKind, { metadata: { namespace: 'shop', name } });
  }

  async unexport(name: string): Promise<void> {
    await this.client.delete(superclusterExportKind, { namespace: 'shop', name });
  }

  /** Kills the process of the Pod of a Service, without the API. */
  async killPod(name: string): Promise<void> {
    const child = this.#pods.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** The clusters in the status of an import. */
  async sources(name: string): Promise<string> {
    const found = await this.client.find(importedServiceKind, { namespace: 'shop', name });
    return (found?.spec?.clusters ?? [])
      .map(({ cluster }) => cluster)
      .toSorted()
      .join();
  }

  /** The clusters from which an import has endpoints. */
  async endpoints(name: string): Promise<readonly string[]> {
    const labelSelector = `multicluster.kubernetes.io/imported-service-name=${name}`;
    const { items } = await this.client.list(endpointSliceKind, { namespace: 'shop', labelSelector });
    return items.map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '');
  }

  /** The answer of DNS, by dig. */
  async resolve(name: string, type = 'A'): Promise<string> {
    const [, address = '', port = ''] = /dns (\S+):(\d+)/.exec(this.#up.process.out) ?? [];
    const { out } = await run('dig', [`@${address}`, '-p', port, '+tries=1', '+time=5', '+short', type, name]);
    return out.trim();
  }

  /** The cluster that answers for a name of this one, by dig and curl; empty: none. */
  async curl(name: string, port = 8080): Promise<string> {
    const url = `http://${await this.resolve(name)}:${port}/`;
    const { out, code } = await run('curl', ['-sS', '--max-time', '3', '--noproxy', '*', url]);
    return code === 0 ? out.trim() : '';
  }

  /** Kills the whole cluster at once: control plane, proxy and Pods. */
  async kill(): Promise<void> {
    await Promise.all([this.#up.stop('SIGKILL'), ...this.#pods.keys().map((name) => this.killPod(name))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client[Symbol.dispose]();
    await this.kill();
  }
}

/** Clusters without a controller, and the flags to start one for them. */
interface Places {
  readonly clusters: readonly SetCluster[];
  readonly flags: readonly string[];
}

/** Starts clusters; `settings` configure their parts. */
export async function startPlaces(
  places: readonly Place[],
  stack: AsyncDisposableStack,
  settings: Readonly<Record<string, object>> = {},
): Promise<Places> {
  const first = Math.floor(Math.random() * 80) * 3 + 1; // different from other sets on this machine
  const clusters = await Promise.all(
    places.map(async (place, index) => {
      const { path } = stack.use(await temporaryDirectory());
      return stack.use(await SetCluster.start(place, { directory: path, number: first + index, settings }));
    }),
  );
  const file = join(stack.use(await temporaryDirectory()).path, 'members.yaml');
  await writeFile(file, JSON.stringify({ members: clusters.map(({ member }) => member) }));
  const flags = ['--members', file, '--kubeconfig', clusters.at(-1)?.kubeconfig ?? '', '--health-port', '0'];
  return { clusters, flags };
}

/** Starts clusters and a controller with a file of members. */
export async function startSet(places: readonly Place[], stack: AsyncDisposableStack): Promise<readonly SetCluster[]> {
  const { clusters, flags } = await startPlaces(places, stack);
  const lease = ['--source-lease-duration', `${leaseMs / 1000}s`, '--leader-elect=false'];
  const controller = stack.use(new FairleadProcess(['multicluster', ...flags, ...lease]));
  await controller.ready();
  return clusters;
}

/** Resolves when a process answers at its address; rejects if it ends. */
async function answers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the process for ${url} ended with ${child.exitCode}`);
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await setTimeout(50);
  }
}
