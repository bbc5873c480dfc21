import type { Transport } from './transport.ts';

/** A transport that is opened by its first request. While it cannot be opened, requests fail with the reason. */
export function lazyTransport(open: () => Promise<Transport>): Transport {
  let opening: Promise<Transport> | undefined;
  let isClosed = false;
  const opened = (): Promise<Transport> => {
    if (isClosed) throw new Error('the transport is closed');
    opening ??= open().catch((error: unknown) => {
      opening = undefined; // the next request tries again
      throw error;
    });
    return opening;
  };
  return {
    request: async (call) => (await opened()).request(call),
    async *stream(call) {
      yield* (await opened()).stream(call);
    },
    [Symbol.dispose]() {
      isClosed = true;
      opening?.then(
        (transport) => transport[Symbol.dispose](),
        () => undefined, // it was never open
      );
    },
  };
}
