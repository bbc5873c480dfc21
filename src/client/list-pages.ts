import { LimitExceededError } from './errors.ts';
import type { Usage } from './limits.ts';

/** A page of a list in the Kubernetes API. */
export interface ListPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[] | null;
}

/** A server that filters by a selector may send a few empty pages. */
const maxEmptyPages = 100;

/** Assembles the pages of a list. Throws if the list does not end. */
export class ListPages<T> {
  items: T[] = [];
  resourceVersion = '';
  #bytes = 0;
  #emptyPages = 0;
  #token = '';
  /** Called with the size of all pages so far; throws if that exceeds the budget. */
  readonly #check: (usage: Usage) => void;

  constructor(check: (usage: Usage) => void) {
    this.#check = check;
  }

  get usage(): Usage {
    return { objects: this.items.length, bytes: this.#bytes };
  }

  /** Adds a page and returns the continue token of the next; '' after the last page. */
  add({ metadata, items }: ListPage<T>, bytes: number): string {
    for (const item of items ?? []) this.items.push(item);
    this.#bytes += bytes;
    this.#check(this.usage);
    this.resourceVersion = metadata.resourceVersion;
    const { continue: token = '' } = metadata;
    if (token === '') return '';
    if (token === this.#token) throw new LimitExceededError('the server sends the same page of a list again');
    if ((items ?? []).length === 0 && ++this.#emptyPages > maxEmptyPages) {
      throw new LimitExceededError(`the server sends more than ${maxEmptyPages} empty pages of a list`);
    }
    this.#token = token;
    return token;
  }

  /** Drops all pages. */
  clear(): void {
    this.items = [];
    [this.#bytes, this.#emptyPages, this.#token] = [0, 0, ''];
  }
}
