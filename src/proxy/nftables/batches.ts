import type { Element, SetName } from './elements.ts';

/** Elements in one command: more make its line long without making it faster. */
const elementsPerCommand = 1000;

/** Commands that add or delete elements, put together as elements come: a full load has hundreds of thousands of them. */
export class Batches {
  readonly #verb: 'add' | 'delete';
  readonly #table: string;
  readonly #commands: string[] = [];
  /** Set → elements that no command has yet, as text. */
  readonly #open = new Map<SetName, string[]>();

  /** `table` is a family and a name. */
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

  /** The commands for everything that was put here. */
  commands(): readonly string[] {
    for (const [set, open] of this.#open) this.#close(set, open);
    return this.#commands;
  }

  #close(set: SetName, open: readonly string[]): void {
    this.#open.delete(set);
    this.#commands.push(`${this.#verb} element ${this.#table} ${set} { ${open.join(', ')} }`);
  }
}
