import type { IpFamily } from '../../api/addresses.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from '../backend.ts';
import type { NodeNetwork, Route } from '../routes/route.ts';
import type { FrontendsToCheck } from './conntrack.ts';
import { Conntrack, frontendsToCheck } from './conntrack.ts';
import { NftablesError } from './errors.ts';
import { Nft } from './nft.ts';
import { probe } from './probe.ts';
import type { ProgramLine } from './program.ts';
import { Ruleset } from './ruleset.ts';
import { nftFamily } from './skeleton.ts';
import { defaultTableName, isTableName } from './table-name.ts';

/** Observes the backend, for metrics. */
export interface NftablesObserver {
  transaction?(bytes: number, seconds: number): void;
  /** The nft process was restarted. */
  restart?(): void;
  /** The tables could not be updated and were recreated. */
  recreated?(): void;
  /** UDP flows were listed, and stale ones deleted. */
  flows?(deleted: number, seconds: number): void;
}

export interface NftablesOptions {
  /** The name of our table in each family. Default: `fairlead-proxy`. */
  readonly table?: string;
  /** Default: both. */
  readonly families?: readonly IpFamily[];
  /** Default: `nft`. */
  readonly nft?: ProgramLine;
  /** Default: `conntrack`. */
  readonly conntrack?: ProgramLine;
  readonly observer?: NftablesObserver;
}

/** Implements routes as rules of the kernel, in tables of its own. Other tables are neither changed nor read. */
export class NftablesBackend implements Backend {
  readonly #table: string;
  readonly #rulesets: readonly Ruleset[];
  readonly #nft: Nft;
  readonly #conntrack: Conntrack;
  readonly #observer: NftablesObserver;
  /** The kernel's state is known: no transaction has failed since the last full load. */
  #isKnown = false;

  /** Rejects with a NftablesError that names the fix if nftables cannot be used. Changes nothing yet. */
  static async open(options: NftablesOptions = {}): Promise<NftablesBackend> {
    await probe(options.nft ?? ['nft'], options.families ?? bothFamilies);
    return new NftablesBackend(options);
  }

  private constructor(options: NftablesOptions) {
    const { table = defaultTableName, families = bothFamilies, nft = ['nft'], conntrack = ['conntrack'] } = options;
    if (!isTableName(table)) {
      throw new TypeError(`table "${table}" is not a valid table name: use up to 31 of a-z, 0-9 and -, a letter first`);
    }
    this.#table = table;
    this.#rulesets = families.map((family) => new Ruleset(table, family));
    this.#observer = options.observer ?? {};
    this.#conntrack = new Conntrack(conntrack);
    this.#nft = new Nft({
      program: nft,
      onRestart: () => this.#observer.restart?.(),
    });
  }

  async replace({ routes, network }: RoutingState): Promise<void> {
    const removed = this.#rulesets.flatMap((ruleset) => [...ruleset.routes()]);
    const added = [...routes.values()];
    // If the state is known, apply the difference in ordered steps first: a full load is one transaction, and a packet during its
    // commit could see a part of the change. The load repairs a failed step.
    if (this.#isKnown) await this.#change(difference(removed, added)).catch(() => {});
    this.#isKnown = false;
    for (const ruleset of this.#rulesets) ruleset.reset(added);
    await this.#loadAll(network);
    this.#isKnown = true;
    // Changes may have been missed: check all flows.
    await this.#deleteStaleFlows(
      new Map([...frontendsToCheck({ removed, added: [] }), ...frontendsToCheck({ removed: [], added })]),
    );
  }

  async apply(change: RouteChange): Promise<void> {
    this.#isKnown = false;
    await this.#change(change);
    this.#isKnown = true;
    await this.#deleteStaleFlows(frontendsToCheck(change));
  }

  problems(): readonly RouteProblem[] {
    const { problem } = this.#conntrack;
    return problem === undefined ? [] : [{ text: problem }];
  }

  async cleanup(): Promise<void> {
    // `add` first, because deleting a missing table fails.
    const tables = this.#rulesets.map(({ family }) => `${nftFamily(family)} ${this.#table}`);
    await this.#nft.load(tables.flatMap((table) => [`add table ${table}`, `delete table ${table}`]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nft[Symbol.asyncDispose]();
  }

  async #change(change: RouteChange): Promise<void> {
    const [first = [], ...others] = this.#rulesets.map((ruleset) => ruleset.apply(change));
    for (const [index, own] of first.entries()) {
      const commands = [own, ...others.map((each) => each[index] ?? [])].flat();
      if (commands.length > 0) await this.#transact(commands, (all) => this.#nft.run(all));
    }
  }

  async #loadAll(network: NodeNetwork): Promise<void> {
    const commands = this.#rulesets.flatMap((ruleset) => ruleset.full(network));
    try {
      await this.#transact(commands, (all) => this.#nft.load(all));
    } catch (error) {
      if (!(error instanceof NftablesError) || error.code !== 'nft-failed') throw error;
      this.#observer.recreated?.();
      // The table may be of another version or edited by hand. Recreating it is one transaction, too, and only loses session
      // affinity.
      const commandsFromScratch = this.#rulesets.flatMap((ruleset) => {
        const table = `${nftFamily(ruleset.family)} ${this.#table}`;
        return [`add table ${table}`, `delete table ${table}`, ...ruleset.full(network)];
      });
      await this.#transact(commandsFromScratch, (all) => this.#nft.load(all));
    }
  }

  async #transact(commands: readonly string[], run: (all: readonly string[]) => Promise<void>): Promise<void> {
    const started = performance.now();
    await run(commands);
    const bytes = commands.reduce((sum, command) => sum + command.length + 1, 0);
    this.#observer.transaction?.(bytes, (performance.now() - started) / 1000);
  }

  async #deleteStaleFlows(frontends: FrontendsToCheck): Promise<void> {
    if (frontends.size === 0) return;
    const started = performance.now();
    const count = await this.#conntrack.deleteStale(frontends);
    this.#observer.flows?.(count, (performance.now() - started) / 1000);
  }
}

/** The difference of two lists. Unchanged routes are the same objects. */
function difference(before: readonly Route[], after: readonly Route[]): RouteChange {
  const [old, next] = [new Set(before), new Set(after)];
  return { removed: before.filter((route) => !next.has(route)), added: after.filter((route) => !old.has(route)) };
}

const bothFamilies: readonly IpFamily[] = ['IPv4', 'IPv6'];
