import type { Element, SetName } from './elements.ts';

/** Elements in one command; more are not faster. */
const elementsPerCommand = 1000;

/** Collects elements into commands that add or delete them: a full load has hundreds of thousands. */
export class Batches {
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
