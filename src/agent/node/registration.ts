// Keeps the Node and the Lease of this machine in the API.
import type { Logger } from 'pino';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { AgentOptions } from '../options.ts';
import type { MachineFacts } from './machine.ts';
import { machineUsage } from './machine.ts';
import type { NodeInput } from './plan.ts';
import { differs, missingLabels, nodeLabels, nodeStatus } from './plan.ts';

export interface RegistrationOptions {
  readonly agent: AgentOptions;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly facts: MachineFacts;
  readonly port: number;
  /** Why the agent cannot run Pods. */
  readonly problems: () => readonly string[];
}

const leaseNamespace = 'kube-node-lease';
const leaseSeconds = 40;
const renewMs = 10_000;
/** How often the status is computed, and written although nothing but the time changed. */
const statusMs = 10_000;
const reportMs = 300_000;
const retryMs = 1000;

export class Registration {
  readonly #options: RegistrationOptions;
  #node: Node | undefined;
  #lease: Lease | undefined;
  #reportedAt = -Infinity;
  /** Why the last write failed. */
  #problem: string | undefined = 'the node is not registered yet';

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Creates or updates the Node, its status and its Lease. Rejects if the API refuses. */
  async register(signal: AbortSignal): Promise<void> {
    const { client, agent } = this.#options;
    const input = await this.#input();
    const { nodeName: name } = agent;
    const labels = nodeLabels(input);
    const found = await client.find(nodeKind, { name }, { signal });
    if (found === undefined) {
      const status = nodeStatus(input, undefined);
      this.#node = await client.create(nodeKind, nodeObject(input, labels, status), { signal });
    } else {
      const missing = missingLabels(labels, found);
      const { podRange } = input;
      // The range of a Node cannot be changed.
      const range = podRange === undefined || found.spec.podCIDR !== undefined ? undefined : { podCIDR: podRange };
      const body = {
        ...(missing === undefined ? {} : { metadata: { labels: missing } }),
        ...(range === undefined ? {} : { spec: { ...range, podCIDRs: [range.podCIDR] } }),
      };
      this.#node =
        missing === undefined && range === undefined
          ? found
          : await client.patch(nodeKind, { name }, { body, type: 'strategic', signal });
    }
    await this.#renew(signal);
    await this.#report(signal);
  }

  /** Renews the Lease and reports the status until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#every(renewMs, signal, () => this.#renew(signal)),
      this.#every(statusMs, signal, () => this.#report(signal)),
    ]);
  }

  /** Reports the status now, for example because the node was marked as lost. */
  async report(node: Node, signal: AbortSignal): Promise<void> {
    this.#node = node;
    await this.#report(signal);
  }

  async #every(ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    for (let wait = ms; !signal.aborted;) {
      await sleep(clock, wait, signal);
      if (signal.aborted) return;
      try {
        await work();
        wait = ms;
        this.#problem = undefined;
      } catch (error) {
        if (signal.aborted) return;
        wait = Math.min(ms, retryMs);
        const problem = `the node cannot be reported: ${messageOf(error)}`;
        if (this.#problem === undefined) log.warn({ err: error }, 'could not report the node, retrying');
        this.#problem = problem;
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { client, clock, agent } = this.#options;
    const name = { namespace: leaseNamespace, name: agent.nodeName };
    const spec = {
      holderIdentity: agent.nodeName,
      leaseDurationSeconds: leaseSeconds,
      renewTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
    };
    try {
      this.#lease ??= await client.find(leaseKind, name, { signal });
      this.#lease =
        this.#lease === undefined
          ? await client.create(leaseKind, { ...this.#newLease(), spec }, { signal })
          : await client.update(leaseKind, { ...this.#lease, spec: { ...this.#lease.spec, ...spec } }, { signal });
    } catch (error) {
      this.#lease = undefined; // read it again
      throw error;
    }
  }

  #newLease(): Omit<Lease, 'spec'> {
    const { agent } = this.#options;
    const uid = this.#node?.metadata.uid ?? '';
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: agent.nodeName, uid }];
    return { metadata: { namespace: leaseNamespace, name: agent.nodeName, ownerReferences } };
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { client, clock, agent } = this.#options;
    const name = { name: agent.nodeName };
    const node = this.#node ?? (await client.get(nodeKind, name, { signal }));
    const status = nodeStatus(await this.#input(), node);
    const isDue = clock.elapsed() - this.#reportedAt >= reportMs;
    if (!isDue && !differs(status, node.status)) return;
    const body = { status: { ...status, addresses: [{ $patch: 'replace' }, ...(status.addresses ?? [])] } };
    try {
      this.#node = await client.patch(nodeKind, name, { body, type: 'strategic', subresource: 'status', signal });
      this.#reportedAt = clock.elapsed();
      this.#problem = undefined;
    } catch (error) {
      this.#node = undefined; // read it again
      // Somebody deleted the Node: it is registered again.
      if (hasStatusCode(error, 404)) return this.register(signal);
      throw error;
    }
  }

  async #input(): Promise<NodeInput> {
    const { agent, facts, clock, port, problems } = this.#options;
    return {
      name: agent.nodeName,
      facts,
      usage: await machineUsage(agent.directory),
      addresses: agent.addresses,
      labels: agent.labels,
      podRange: agent.network.mode === 'netns' ? agent.network.cidr : undefined,
      maxPods: agent.maxPods,
      port,
      version: agent.version,
      problems: problems(),
      now: clock.now(),
    };
  }
}

const nodeObject = (
  { name, podRange }: NodeInput,
  labels: Readonly<Record<string, string>>,
  status: Node['status'],
): Node => ({
  metadata: { name, labels },
  spec: podRange === undefined ? {} : { podCIDR: podRange, podCIDRs: [podRange] },
  status,
});
