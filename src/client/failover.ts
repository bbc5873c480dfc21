import type { ApiRequest, ApiResponse, Transport } from './transport.ts';

/**
 * A transport over several API servers of one cluster. It uses one until a request fails without a response or with a
 * 503, and then the next. A read that failed is sent again; a write is not, because it may be done.
 */
export function failover(transports: readonly Transport[]): Transport {
  let current = 0;
  const use = (index: number): Transport => {
    const transport = transports[index];
    if (transport === undefined) throw new Error('bug: there is no API server to use');
    return transport;
  };
  const failed = (index: number): void => {
    if (index === current) current = (current + 1) % transports.length;
  };
  const isCanceled = ({ signal }: ApiRequest): boolean => signal?.aborted === true;
  return {
    async request(call) {
      for (let attempt = 1; ; attempt++) {
        const index = current;
        let response: ApiResponse | undefined;
        try {
          response = await use(index).request(call);
        } catch (error) {
          if (isCanceled(call)) throw error;
          failed(index);
          if (call.method !== 'GET' || attempt >= transports.length) throw error;
          continue;
        }
        if (response.status !== 503) return response;
        failed(index);
        if (call.method !== 'GET' || attempt >= transports.length) return response;
      }
    },
    async *stream(call) {
      const index = current;
      try {
        yield* use(index).stream(call);
      } catch (error) {
        if (!isCanceled(call)) failed(index);
        throw error;
      }
    },
    [Symbol.dispose]() {
      for (const transport of transports) transport[Symbol.dispose]();
    },
  };
}
