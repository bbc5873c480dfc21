import type { Clock } from './clock.ts';
import { afterPendingReads, systemClock } from './clock.ts';
import { ConnectionLostError } from './errors.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';

/**
 * How often a server is probed while calls to it are in flight, how long it has to answer, and after how many failures in a row
 * it counts as failed: a busy server may be late once.
 */
const probe = { everyMs: 1000, timeoutMs: 1500, attempts: 2 };

/**
 * A transport over several API servers of one cluster. It uses one until a request fails without a response or with a
 * 503, and then the next. A read that failed is sent again; a write is not, because it may be done.
 *
 * A server that is paused, that has disappeared or that is not ready may leave calls open for minutes. So servers with calls in
 * flight are probed, and when another one is ready, the calls to a server that is not are ended.
 */
export const failover = (transports: readonly Transport[], clock: Clock = systemClock): Transport =>
  new Failover(transports, clock);

class Failover implements Transport {
  readonly #transports: readonly Transport[];
  readonly #clock: Clock;
  #current = 0;
  /** A call in flight → its server. */
  readonly #calls = new Map<AbortController, number>();
  #cancelProbe: (() => void) | undefined;
  #isProbing = false;

  constructor(transports: readonly Transport[], clock: Clock) {
    this.#transports = transports;
    this.#clock = clock;
  }

  async request(call: ApiRequest): Promise<ApiResponse> {
    for (let attempt = 1; ; attempt++) {
      const index = this.#current;
      const { signal, end } = this.#begin(call, index);
      let response: ApiResponse | undefined;
      try {
        response = await this.#use(index).request({ ...call, signal });
      } catch (error) {
        if (call.signal?.aborted === true) throw error;
        this.#failed(index);
        if (call.method !== 'GET' || attempt >= this.#transports.length) throw error;
        continue;
      } finally {
        end();
      }
      if (response.status !== 503) return response;
      this.#failed(index);
      if (call.method !== 'GET' || attempt >= this.#transports.length) return response;
    }
  }

  async *stream(call: ApiRequest): AsyncGenerator<string> {
    const index = this.#current;
    const { signal, end } = this.#begin(call, index);
    try {
      yield* this.#use(index).stream({ ...call, signal });
    } catch (error) {
      if (call.signal?.aborted !== true) this.#failed(index);
      throw error;
    } finally {
      end();
    }
  }

  [Symbol.dispose](): void {
    this.#cancelProbe?.();
    for (const transport of this.#transports) transport[Symbol.dispose]();
  }

  #use(index: number): Transport {
    const transport = this.#transports[index];
    if (transport === undefined) throw new Error('bug: there is no API server to use');
    return transport;
  }

  #failed(index: number): void {
    if (index === this.#current) this.#current = (this.#current + 1) % this.#transports.length;
  }

  /** Counts a call as in flight, with a signal that also fires when its server fails, until `end` is called. */
  #begin({ signal }: ApiRequest, index: number): { readonly signal: AbortSignal; readonly end: () => void } {
    const own = new AbortController();
    const abort = (): void => own.abort(signal?.reason);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    this.#calls.set(own, index);
    this.#scheduleProbe();
    return {
      signal: own.signal,
      end: () => {
        signal?.removeEventListener('abort', abort);
        this.#calls.delete(own);
        if (this.#calls.size > 0) return;
        this.#cancelProbe?.();
        this.#cancelProbe = undefined;
      },
    };
  }

  #scheduleProbe(): void {
    if (this.#isProbing || this.#calls.size === 0) return;
    this.#cancelProbe ??= this.#clock.after(probe.everyMs, () => {
      this.#cancelProbe = undefined;
      this.#isProbing = true;
      void this.#probeServers().finally(() => {
        this.#isProbing = false;
        this.#scheduleProbe();
      });
    });
  }

  async #probeServers(): Promise<void> {
    for (const index of new Set(this.#calls.values())) {
      if (await this.#isUsable(index)) continue;
      const next = await this.#nextReady(index);
      if (next === undefined) continue;
      if (this.#current === index) this.#current = next;
      const reason = new ConnectionLostError('the API server does not answer or is not ready: using another one');
      for (const [call, server] of this.#calls) if (server === index) call.abort(reason);
    }
  }

  async #isUsable(index: number): Promise<boolean> {
    for (let attempt = 0; attempt < probe.attempts; attempt++) if (await this.#isReady(index)) return true;
    return false;
  }

  async #nextReady(after: number): Promise<number | undefined> {
    for (let step = 1; step < this.#transports.length; step++) {
      const index = (after + step) % this.#transports.length;
      if (await this.#isReady(index)) return index;
    }
    return undefined;
  }

  async #isReady(index: number): Promise<boolean> {
    const late = new AbortController();
    const cancel = afterPendingReads(this.#clock, probe.timeoutMs, () => late.abort());
    try {
      const { status } = await this.#use(index).request({ method: 'GET', path: '/readyz', signal: late.signal });
      return status < 500;
    } catch {
      return false; // the calls in flight report why
    } finally {
      cancel();
    }
  }
}
