// An HTTPS webhook for tests, with its own certificate authority.
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { issue, issueCa } from '../../pki/issue.ts';

/** A received AdmissionReview request; tests cast it to what they expect. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
export type ReviewRequest = any;

export interface TestWebhook extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** In the format of `caBundle`. */
  readonly caBundle: string;
  readonly requests: ReviewRequest[];
  /** The number of connections so far. */
  connections(): number;
}

/** Returns a response without its uid, or a whole body. A promise that never settles keeps the call waiting. */
export type Responder = (
  request: ReviewRequest,
) => object | { readonly body: unknown; readonly status?: number } | Promise<object>;

const validity = { now: new Date(), days: 1 };
const authority = issueCa('webhook-test', validity);

/** Starts a webhook; `valid` is the validity of its certificate. */
export async function startWebhook(
  respond: Responder,
  names: readonly string[] = [],
  valid = validity,
): Promise<TestWebhook> {
  const ca = await authority;
  const pair = await issue(
    ca,
    { use: 'server', commonName: 'webhook', names: { dns: names, ips: ['127.0.0.1'] } },
    valid,
  );
  const requests: ReviewRequest[] = [];
  let connections = 0;
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const review: ReviewRequest = JSON.parse(Buffer.concat(chunks).toString());
    requests.push({ ...review.request, url: incoming.url, host: incoming.headers.host });
    const given = await respond(review.request);
    const isWhole = 'body' in given;
    const response = { uid: review.request.uid, ...given };
    outgoing.statusCode = isWhole && 'status' in given ? Number(given.status) : 200;
    outgoing.end(JSON.stringify(isWhole ? given.body : { ...review, request: undefined, response }));
  };
  const server = createServer(
    pair,
    (incoming, outgoing) => void serve(incoming, outgoing).catch(() => incoming.destroy()),
  );
  server.on('secureConnection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/check`,
    port,
    caBundle: Buffer.from(ca.cert).toString('base64'),
    requests,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
