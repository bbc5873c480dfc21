import { LimitExceededError } from './errors.ts';
import type { Usage } from './limits.ts';

/** A page of a list, as servers send it. */
export interface ListPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[] | null;
}

/** Pages that bring nothing; a server that filters much may send a few. */
const mostEmptyPages = 100;

/** Puts the pages of a list together. Throws when they do not come to an end. */
export class ListPages<T> {
  items: T[] = [];
  resourceVersion = '';
  #bytes = 0;
  #emptyPages = 0;
  #token = '';
  /** Called with the size of all pages so far. Throws when that is too much. */
  readonly #check: (usage: Usage) => void;

  constructor(check: (usage: Usage) => void) {
    this.#check = check;
  }

  /** Objects, and the bytes of their pages. */
  get usage(): Usage {
    return { objects: this.items.length, bytes: this.#bytes };
  }

  /** Adds a page and gives the token of the next; '' when there is none. */
  add({ metadata, items }: ListPage<T>, bytes: number): string {
    for (const item of items ?? []) this.items.push(item);
    this.#bytes += bytes;
    this.#check(this.usage);
    this.resourceVersion = metadata.resourceVersion;
    const { continue: token = '' } = metadata;
    if (token === '') return '';
    if (token === this.#token) throw new LimitExceededError('the server sends the same page of a list again');
    if ((items ?? []).length === 0 && ++this.#emptyPages > mostEmptyPages) {
      throw new LimitExceededError(`the server sends more than ${mostEmptyPages} empty pages of a list`);
    }
    this.#token = token;
    return token;
  }

  /** Forgets what was added. */
  clear(): void {
    this.items = [];
    [this.#bytes, this.#emptyPages, this.#token] = [0, 0, ''];
  }
}
