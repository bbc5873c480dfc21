import { failure } from '../../api/errors.ts';
import type { ApiRequest, Transport } from '../transport.ts';

/** A fault of the connection to a server. */
export type Fault = 'cut' | 'end' | 'expire' | 'garble' | 'refuse';

/** A transport that injects faults. */
export class FaultyTransport implements Transport {
  readonly #inner: Transport;
  readonly #streams = new Set<AbortController>();
  /** Faults of the next requests, one each. */
  readonly #next: Fault[] = [];

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  inject(fault: Fault): void {
    if (fault === 'expire' || fault === 'refuse') this.#next.push(fault);
    for (const stream of this.#streams) stream.abort(fault);
  }

  async request(call: ApiRequest): ReturnType<Transport['request']> {
    this.#fail();
    return this.#inner.request(call);
  }

  async *stream(call: ApiRequest): AsyncGenerator<string> {
    this.#fail();
    const own = new AbortController();
    this.#streams.add(own);
    const signal = call.signal === undefined ? own.signal : AbortSignal.any([own.signal, call.signal]);
    try {
      for await (const line of this.#inner.stream({ ...call, signal })) yield line;
    } catch (error) {
      if (!own.signal.aborted || call.signal?.aborted === true) throw error;
      if (own.signal.reason === 'end') return;
      if (own.signal.reason !== 'garble') throw new Error(`stream: ${String(own.signal.reason)}`, { cause: error });
      yield '{"type":"ADDED","obj';
    } finally {
      this.#streams.delete(own);
    }
  }

  [Symbol.dispose](): void {
    this.#inner[Symbol.dispose]();
  }

  #fail(): void {
    const fault = this.#next.shift();
    if (fault === 'expire') throw failure({ code: 410, reason: 'Expired', message: 'too old resource version' });
    if (fault === 'refuse') throw failure({ code: 503, reason: 'ServiceUnavailable', message: 'busy' });
  }
}
