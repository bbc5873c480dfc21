import type { UserspaceLimits } from '../options.ts';
import type { SwitchboardChange } from '../switchboard.ts';

/** A listener of a route. */
export interface Door {
  /** The key of its route. */
  readonly key: string;
  readonly address: string;
}

/** What a thread is told. Each is answered with its number when it is done. */
export interface Order {
  readonly id: number;
  readonly task:
    | { readonly kind: 'setup'; readonly counters: SharedArrayBuffer; readonly limits: UserspaceLimits }
    | { readonly kind: 'change'; readonly change: SwitchboardChange }
    | { readonly kind: 'open'; readonly door: Door; readonly fd: number }
    | { readonly kind: 'close'; readonly fd: number }
    | { readonly kind: 'stop'; readonly drainMs: number };
}
