import type { IpFamily } from '../../api/addresses.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from '../backend.ts';
import type { NodeNetwork, Route } from '../routes/route.ts';
import type { Watched } from './conntrack.ts';
import { Conntrack, watchedIn } from './conntrack.ts';
import { NftablesError } from './errors.ts';
import { Nft } from './nft.ts';
import { probe } from './probe.ts';
import type { ProgramLine } from './program.ts';
import { Ruleset } from './ruleset.ts';
import { nftFamily } from './skeleton.ts';
import { defaultTableName, isTableName } from './table-name.ts';

/** Told of what the backend does, for metrics. */
export interface NftablesObserver {
  transaction?(bytes: number, seconds: number): void;
  /** The lasting nft process was started again. */
  restart?(): void;
  /** What was there could not be brought up to date, and was made anew. */
  anew?(): void;
  /** UDP flows were looked at, and so many cut. */
  flows?(cut: number, seconds: number): void;
}

export interface NftablesOptions {
  /** The one table of each family that is ours. Default: `fairlead-proxy`. */
  readonly table?: string;
  /** Default: both. */
  readonly families?: readonly IpFamily[];
  /** Default: `nft`. */
  readonly nft?: ProgramLine;
  /** Default: `conntrack`. */
  readonly conntrack?: ProgramLine;
  readonly observer?: NftablesObserver;
}

/** Routes as rules of the kernel. Its tables hold everything it makes; nobody else's are touched or read. */
export class NftablesBackend implements Backend {
  readonly #table: string;
  readonly #rulesets: readonly Ruleset[];
  readonly #nft: Nft;
  readonly #conntrack: Conntrack;
  readonly #observer: NftablesObserver;
  /** The kernel has what the rulesets say: nothing was refused since everything was loaded. */
  #isKnown = false;

  /** Rejects with a NftablesError that says what to do where nftables cannot be used. Makes nothing yet. */
  static async open(options: NftablesOptions = {}): Promise<NftablesBackend> {
    await probe(options.nft ?? ['nft'], options.families ?? bothFamilies);
    return new NftablesBackend(options);
  }

  private constructor(options: NftablesOptions) {
    const { table = defaultTableName, families = bothFamilies, nft = ['nft'], conntrack = ['conntrack'] } = options;
    if (!isTableName(table)) {
      throw new TypeError(`table "${table}" is no name for a table: use up to 31 of a-z, 0-9 and -, a letter first`);
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
    // What there is, as far as that is known, is changed step by step first: a load is one transaction, and a packet that passes
    // meanwhile must not find half of a change. Where a step fails the load mends it.
    if (this.#isKnown) await this.#change(difference(removed, added)).catch(() => {});
    this.#isKnown = false;
    for (const ruleset of this.#rulesets) ruleset.reset(added);
    await this.#loadAll(network);
    this.#isKnown = true;
    // Whoever was not watched over meanwhile may have lost somebody: all are looked at.
    await this.#cut(new Map([...watchedIn({ removed, added: [] }), ...watchedIn({ removed: [], added })]));
  }

  async apply(change: RouteChange): Promise<void> {
    this.#isKnown = false;
    await this.#change(change);
    this.#isKnown = true;
    await this.#cut(watchedIn(change));
  }

  problems(): readonly RouteProblem[] {
    const { problem } = this.#conntrack;
    return problem === undefined ? [] : [{ text: problem }];
  }

  async cleanup(): Promise<void> {
    // A table that is not there cannot be deleted; one that was just added can.
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
      this.#observer.anew?.();
      // What is there may be of another version, or somebody's edit. Making it anew is one transaction, too, and only
      // forgets which clients were where.
      const anew = this.#rulesets.flatMap((ruleset) => {
        const table = `${nftFamily(ruleset.family)} ${this.#table}`;
        return [`add table ${table}`, `delete table ${table}`, ...ruleset.full(network)];
      });
      await this.#transact(anew, (all) => this.#nft.load(all));
    }
  }

  async #transact(commands: readonly string[], run: (all: readonly string[]) => Promise<void>): Promise<void> {
    const started = performance.now();
    await run(commands);
    const bytes = commands.reduce((sum, command) => sum + command.length + 1, 0);
    this.#observer.transaction?.(bytes, (performance.now() - started) / 1000);
  }

  async #cut(watched: Watched): Promise<void> {
    if (watched.size === 0) return;
    const started = performance.now();
    const count = await this.#conntrack.cut(watched);
    this.#observer.flows?.(count, (performance.now() - started) / 1000);
  }
}

/** What differs. A route that is the same object is the same. */
function difference(before: readonly Route[], after: readonly Route[]): RouteChange {
  const [old, next] = [new Set(before), new Set(after)];
  return { removed: before.filter((route) => !next.has(route)), added: after.filter((route) => !old.has(route)) };
}

const bothFamilies: readonly IpFamily[] = ['IPv4', 'IPv6'];
