import { messageOf } from '../../api/error-message.ts';
import type { NodeAddress } from '../nodes/node-address.ts';
import type { NodeClient } from '../nodes/node-client.ts';
import { readText } from '../nodes/node-client.ts';

/** What the server of a node reports at `/stats/summary`, as far as it is read. Every field may be missing. */
export interface Summary {
  readonly node?: Usage;
  readonly pods?: readonly {
    readonly podRef?: { readonly name?: string; readonly namespace?: string; readonly uid?: string };
    readonly containers?: readonly ({ readonly name?: string } & Usage)[];
  }[];
}

export interface Usage {
  readonly cpu?: { readonly time?: string; readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

/** How long a report is used: many clients that ask at once cost a node one request. */
const freshMs = 10_000;
const timeoutMs = 10_000;
const maxBytes = 16 << 20;
const maxConcurrent = 32;

/** Reads what nodes report. Nothing is read while nobody asks. */
export class NodeUsage {
  readonly #nodes: NodeClient;
  /** node → its report, and when it was requested */
  readonly #reports = new Map<string, { readonly at: number; readonly summary: Promise<Summary | undefined> }>();

  constructor(nodes: NodeClient) {
    this.#nodes = nodes;
  }

  /** The reports of nodes by name; those that cannot be reached have none. */
  async of(addresses: ReadonlyMap<string, NodeAddress>): Promise<ReadonlyMap<string, Summary>> {
    this.#dropOld();
    const found = new Map<string, Summary>();
    const left = [...addresses];
    const work = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const [name, address] = next;
        const summary = await this.#report(name, address);
        if (summary !== undefined) found.set(name, summary);
      }
    };
    await Promise.all(Array.from({ length: Math.min(maxConcurrent, left.length) }, work));
    return found;
  }

  #report(name: string, address: NodeAddress): Promise<Summary | undefined> {
    const known = this.#reports.get(name);
    if (known !== undefined) return known.summary;
    const summary = this.#read(address).catch(() => undefined); // unreachable, or it has no such report
    this.#reports.set(name, { at: performance.now(), summary });
    return summary;
  }

  async #read(address: NodeAddress): Promise<Summary> {
    const response = await this.#nodes.send({
      scheme: 'https',
      address,
      path: '/stats/summary?only_cpu_and_memory=true',
      method: 'GET',
      headers: {},
      isNode: true,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readText(response, maxBytes);
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${text.slice(0, 100)}`);
    try {
      // Its fields are checked where they are used.
      return JSON.parse(text) as Summary;
    } catch (error) {
      throw new Error(`not JSON: ${messageOf(error)}`, { cause: error });
    }
  }

  #dropOld(): void {
    const before = performance.now() - freshMs;
    for (const [name, { at }] of this.#reports) if (at < before) this.#reports.delete(name);
  }
}
