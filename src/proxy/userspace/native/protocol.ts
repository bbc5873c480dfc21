import type { UserspaceLimits } from '../options.ts';
import type { BalancerChange } from '../balancer.ts';

/** A listener of a route. */
export interface ListenerRoute {
  /** The key of its route. */
  readonly key: string;
  readonly address: string;
}

/** A request to a relay thread, which answers with the id when it is done. */
export interface ThreadRequest {
  readonly id: number;
  readonly task:
    | { readonly kind: 'setup'; readonly counters: SharedArrayBuffer; readonly limits: UserspaceLimits }
    | { readonly kind: 'change'; readonly change: BalancerChange }
    | { readonly kind: 'open'; readonly listener: ListenerRoute; readonly fd: number }
    | { readonly kind: 'close'; readonly fd: number }
    | { readonly kind: 'stop'; readonly drainMs: number };
}
