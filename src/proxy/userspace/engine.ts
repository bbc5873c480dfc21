import type { AllowedSources } from './allowed-sources.ts';
import type { BalancerChange } from './balancer.ts';
import type { Counters } from './counters.ts';

/** An address and port to listen on. */
export interface ListenRequest {
  /** The key of its route. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly allowedSources: AllowedSources;
  /** The route has session affinity. */
  readonly isSticky: boolean;
}

/** An open listener. */
export interface Listener {
  /** Replaces the sources it accepts. Left out: the engine cannot filter in the kernel, and resets other connections. */
  readonly setAllowedSources?: (sources: AllowedSources) => void;
  /** Stops accepting. Existing connections continue. */
  close(): Promise<void>;
}

/** Accepts connections and relays their bytes. */
export interface Engine extends AsyncDisposable {
  /** One set of counters for each thread. */
  readonly counters: readonly Counters[];
  /** Resolves when new connections follow the change. */
  change(change: BalancerChange): Promise<void>;
  /** Rejects with an error that has the system's `code`. */
  open(request: ListenRequest): Promise<Listener>;
}
