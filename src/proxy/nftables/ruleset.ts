// Turns routes into nft commands: a full load or a difference. Nothing is read back from the kernel.
import type { IpFamily } from '../../api/addresses.ts';
import type { RouteChange } from '../backend.ts';
import type { NodeNetwork, Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import { chainOf, chainRules } from './chains.ts';
import type { Element, SetName, SlottedRoute } from './elements.ts';
import { elementsOf, sharedSets } from './elements.ts';
import { nftFamily, skeleton } from './skeleton.ts';
import { slotted } from './slots.ts';
import type { Edit } from './steps.ts';
import { inSteps, nameOf } from './steps.ts';

/** Lists of commands, each an atomic transaction, to be run in order. */
export type Transactions = readonly (readonly string[])[];

/**
 * The expected content of a family's table. `apply` returns the commands for a change and assumes that they succeed; if they
 * fail, `full` returns the commands for a full load.
 */
export class Ruleset {
  readonly family: IpFamily;
  readonly #of: string;
  readonly #table: string;
  readonly #routes = new Map<string, SlottedRoute>();
  /** Set → element → number of its routes. */
  readonly #shared = new Map<SetName, Map<string, number>>();
  readonly #chains = new Set<string>();

  constructor(table: string, family: IpFamily) {
    this.#table = table;
    this.family = family;
    this.#of = `${nftFamily(family)} ${table}`;
  }

  /**
   * The commands for a change, always the same number of transactions, some of them empty. Routes of the other family are
   * ignored.
   */
  apply(change: RouteChange): Transactions {
    const edit: Edit = { gone: [], come: [], shared: new Map() };
    const removed = new Map(
      change.removed.filter((route) => this.#isOwn(route)).map((route) => [routeKey(route), route]),
    );
    for (const route of change.added) {
      if (!this.#isOwn(route)) continue;
      const key = routeKey(route);
      removed.delete(key);
      this.#put(key, slotted(route, this.#routes.get(key)), edit);
    }
    for (const key of removed.keys()) this.#put(key, undefined, edit);
    this.#resolveShared(edit);
    const verdicts = new Set(edit.come.flatMap(({ value }) => value ?? []));
    const { first, gone, come, later } = inSteps(edit);
    return [
      this.#newChains(verdicts),
      this.#commands('add', first),
      [...this.#commands('delete', gone), ...this.#commands('add', come)],
      this.#commands('delete', later),
    ];
  }

  /** Replaces all routes; `full` follows. */
  reset(routes: Iterable<Route>): void {
    const old = new Map(this.#routes);
    this.#routes.clear();
    for (const route of routes) {
      const key = routeKey(route);
      if (this.#isOwn(route)) this.#routes.set(key, slotted(route, old.get(key)));
    }
  }

  /** All routes of the family. */
  *routes(): Iterable<Route> {
    for (const { route } of this.#routes.values()) yield route;
  }

  /** The commands of a full load, whatever the table contains. Unused chains are deleted. */
  full(network: NodeNetwork): readonly string[] {
    const stale = new Set(this.#chains);
    this.#chains.clear();
    this.#shared.clear();
    const verdicts = new Set<string>();
    const elements = new Batches('add', this.#of);
    for (const route of this.#routes.values()) {
      for (const element of elementsOf(route)) {
        if (sharedSets.has(element.set) && this.#count(element, 1) > 1) continue;
        elements.put(element);
        if (element.value?.startsWith('goto ') === true) verdicts.add(element.value);
      }
    }
    const chains = this.#newChains(verdicts);
    for (const name of this.#chains) stale.delete(name);
    return [
      ...skeleton(this.#table, this.family, network),
      ...chains,
      ...elements.commands(),
      ...Array.from(stale, (name) => `flush chain ${this.#of} ${name}`),
      ...Array.from(stale, (name) => `delete chain ${this.#of} ${name}`),
    ];
  }

  #isOwn({ family }: Route): boolean {
    return family === this.family;
  }

  #put(key: string, route: SlottedRoute | undefined, edit: Edit): void {
    const old = this.#routes.get(key);
    const before = new Map(old === undefined ? [] : elementsOf(old).map((element) => [nameOf(element), element]));
    for (const element of route === undefined ? [] : elementsOf(route)) {
      const same = before.get(nameOf(element));
      before.delete(nameOf(element));
      if (same === undefined) this.#add(element, edit);
      else if (same.value !== element.value) {
        edit.gone.push(same);
        edit.come.push(element);
      }
    }
    for (const element of before.values()) this.#remove(element, edit);
    if (route === undefined) this.#routes.delete(key);
    else this.#routes.set(key, route);
  }

  #add(element: Element, edit: Edit): void {
    if (sharedSets.has(element.set)) this.#share(element, 1, edit);
    else edit.come.push(element);
  }

  #remove(element: Element, edit: Edit): void {
    if (sharedSets.has(element.set)) this.#share(element, -1, edit);
    else edit.gone.push(element);
  }

  #share(element: Element, by: 1 | -1, { shared }: Edit): void {
    const now = this.#count(element, by);
    if (!shared.has(nameOf(element))) shared.set(nameOf(element), { element, existed: now - by > 0 });
  }

  /** Changes the number of routes of a shared element, and returns it. */
  #count({ set, key }: Element, by: 1 | -1): number {
    const members = this.#shared.get(set) ?? new Map<string, number>();
    this.#shared.set(set, members);
    const now = (members.get(key) ?? 0) + by;
    if (now === 0) members.delete(key);
    else members.set(key, now);
    return now;
  }

  /** Adds shared elements to the edit at the end: one that was removed and added again has not changed. */
  #resolveShared({ shared, gone, come }: Edit): void {
    for (const { element, existed } of shared.values()) {
      const exists = this.#shared.get(element.set)?.has(element.key) ?? false;
      if (exists !== existed) (exists ? come : gone).push(element);
    }
  }

  /** Commands for chains that verdicts need and that do not exist yet. They stay until the next full load. */
  #newChains(verdicts: ReadonlySet<string>): readonly string[] {
    const made: string[] = [];
    const rules: string[] = [];
    for (const verdict of verdicts) {
      if (!verdict.startsWith('goto ')) continue;
      const name = verdict.slice('goto '.length);
      const chain = this.#chains.has(name) ? undefined : chainOf(name);
      if (chain === undefined) continue;
      this.#chains.add(name);
      made.push(`add chain ${this.#of} ${name}`, `flush chain ${this.#of} ${name}`);
      rules.push(...chainRules(chain, this.family).map((rule) => `add rule ${this.#of} ${name} ${rule}`));
    }
    return [...made, ...rules];
  }

  #commands(verb: 'add' | 'delete', elements: readonly Element[]): readonly string[] {
    const batches = new Batches(verb, this.#of);
    for (const element of elements) batches.put(element);
    return batches.commands();
  }
}

/** Elements in one command; more are not faster. */
const elementsPerCommand = 1000;

/** Collects elements into commands that add or delete them: a full load has hundreds of thousands. */
class Batches {
  readonly #verb: 'add' | 'delete';
  readonly #table: string;
  readonly #commands: string[] = [];
  /** Set → elements that are not in a command yet. */
  readonly #open = new Map<SetName, string[]>();

  /** `table` is family and name. */
  constructor(verb: 'add' | 'delete', table: string) {
    this.#verb = verb;
    this.#table = table;
  }

  put({ set, key, value }: Element): void {
    const open = this.#open.get(set) ?? [];
    if (open.length === 0) this.#open.set(set, open);
    open.push(value === undefined || this.#verb === 'delete' ? key : `${key} : ${value}`);
    if (open.length === elementsPerCommand) this.#close(set, open);
  }

  /** The commands for all elements. */
  commands(): readonly string[] {
    for (const [set, open] of this.#open) this.#close(set, open);
    return this.#commands;
  }

  #close(set: SetName, open: readonly string[]): void {
    this.#open.delete(set);
    this.#commands.push(`${this.#verb} element ${this.#table} ${set} { ${open.join(', ')} }`);
  }
}
