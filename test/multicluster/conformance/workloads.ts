// Simulates controllers and kubelets: Deployments and StatefulSets get Pods, and Pods get an address and a process.

import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { deploymentKind } from '../../../src/api/kinds/apps/deployment/kind.ts';
import { statefulSetKind } from '../../../src/api/kinds/apps/statefulset/kind.ts';
import { podKind } from '../../../src/api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../src/api/kinds/core/pod/schema.ts';
import type { Client } from '../../../src/client/client.ts';
import { hasStatusCode } from '../../../src/client/transport.ts';

/** Runs in one cluster, whose Pods have addresses in `network` (such as 127.192.7), until it is disposed of. */
export class Workloads implements AsyncDisposable {
  readonly #client: Client;
  readonly #network: string;
  readonly #end = new AbortController();
  readonly #running: Promise<void>;
  /** uid of a Pod → its process. */
  readonly #processes = new Map<string, ChildProcess>();
  #last = 0;

  constructor(client: Client, network: string) {
    this.#client = client;
    this.#network = network;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    for (; !this.#end.signal.aborted; await delay(100)) {
      await this.#createPods();
      const { items } = await this.#client.list(podKind);
      for (const pod of items) if (pod.status.phase !== 'Running') await this.#start(pod);
      const uids = new Set(items.map(({ metadata }) => metadata.uid ?? ''));
      for (const uid of this.#processes.keys()) if (!uids.has(uid)) this.#stop(uid);
    }
  }

  async #createPods(): Promise<void> {
    const [deployments, sets] = [await this.#client.list(deploymentKind), await this.#client.list(statefulSetKind)];
    for (const { metadata, spec } of [...deployments.items, ...sets.items]) {
      if (metadata.deletionTimestamp !== undefined) continue;
      for (let index = 0; index < (spec.replicas ?? 1); index++) {
        const name = `${metadata.name ?? ''}-${index}`;
        // Pods of a StatefulSet have fixed names.
        const identity = 'serviceName' in spec ? { hostname: name, subdomain: spec.serviceName } : {};
        const pod = {
          metadata: { ...spec.template.metadata, name, namespace: metadata.namespace },
          spec: { ...spec.template.spec, ...identity },
          status: {},
        };
        await this.#client.create(podKind, pod as Pod).catch((error: unknown) => {
          // It exists, or its namespace is terminating.
          if (![403, 404, 409].some((code) => hasStatusCode(error, code))) throw error;
        });
      }
    }
  }

  async #start({ metadata: { name = '', namespace = '', uid = '' } }: Pod): Promise<void> {
    if (this.#processes.has(uid)) return;
    const podIP = `${this.#network}.${(this.#last++ % 250) + 1}`;
    const child = fork(join(import.meta.dirname, 'pod.ts'), [podIP]);
    this.#processes.set(uid, child);
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
    const written = this.#client.patch(podKind, { namespace, name }, { body: { status }, subresource: 'status' });
    await written.catch((error: unknown) => {
      if (!hasStatusCode(error, 404)) throw error;
    });
  }

  #stop(uid: string): void {
    this.#processes.get(uid)?.kill('SIGKILL');
    this.#processes.delete(uid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#running;
    for (const child of this.#processes.values()) child.kill('SIGKILL');
  }
}
