import type { Transport } from '../../client/transport.ts';

/** A transport that is opened when it is first used. What keeps it from being opened is thrown by whatever uses it. */
export function lazyTransport(open: () => Promise<Transport>): Transport {
  let opening: Promise<Transport> | undefined;
  let isClosed = false;
  const opened = (): Promise<Transport> => {
    if (isClosed) throw new Error('the transport is closed');
    opening ??= open().catch((error: unknown) => {
      opening = undefined; // another try may find what was missing
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
        () => undefined, // it never was
      );
    },
  };
}
