import type { IncomingMessage } from 'node:http';

import type { Headers, StreamReply } from '../reply.ts';

/** Passes the body of a response on as it arrives, at the pace of the client. */
export function streamResponse(
  response: IncomingMessage,
  { status, headers }: { readonly status: number; readonly headers: Headers },
): StreamReply {
  return {
    status,
    headers,
    isPatient: true,
    stream(sink) {
      response.on('data', (chunk: Buffer) => {
        if (!sink.write(chunk)) response.pause();
      });
      sink.onDrain(() => void response.resume());
      sink.onClose(() => void response.destroy());
      response.on('end', () => sink.end());
      response.on('error', () => sink.abort()); // a broken body must not look complete
      response.on('close', () => {
        if (!response.readableEnded) sink.abort();
      });
    },
  };
}
