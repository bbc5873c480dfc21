import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import { joinHostPort } from '../../api/addresses.ts';
import { validatingWebhookConfigurationKind } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import type { Member } from '../member/member.ts';
import { isOurs } from '../project/marks.ts';
import { configurationName, configurationOf } from './configuration.ts';
import { Paths } from './paths.ts';
import type { ExportReview } from './review.ts';
import { allowed, readReview } from './review.ts';

/** What the webhook shows, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** Who signed it. */
  readonly ca: string;
}

export interface WebhookOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** How the API servers of members reach it, without a path; undefined: where it listens. */
  readonly url?: string | undefined;
  /** Asked at the start, and once a day for another one that lasts longer. */
  readonly certificate: () => Promise<Certificate>;
  /** The authorities of client certificates, PEM; a client without one of theirs is refused. Default: none is required. */
  readonly clientCa?: (() => Promise<string>) | undefined;
  /** How often it is looked whether members still know of it; default a minute. */
  readonly checkMs?: number | undefined;
}

/** What the author of an export in a cluster is told. */
export type Advise = (review: ExportReview, cluster: string) => readonly string[];

/** An AdmissionReview of an export is a few kilobytes. */
const maxBytes = 1024 * 1024;
const requestMs = 10_000;
const mostConnections = 64;

/** Answers the API servers of members that ask what an export would do: POST to the path of the cluster. */
export class ExportWebhook implements AsyncDisposable {
  readonly #options: WebhookOptions;
  readonly #paths: Paths;
  readonly #server: Server;
  #certificate: Certificate;

  private constructor(
    options: WebhookOptions,
    {
      certificate,
      server,
      paths,
    }: { readonly certificate: Certificate; readonly server: Server; readonly paths: Paths },
  ) {
    this.#options = options;
    this.#certificate = certificate;
    this.#server = server;
    this.#paths = paths;
  }

  /** Resolves when it answers; rejects when it cannot listen. */
  static async start(options: WebhookOptions, advise: Advise): Promise<ExportWebhook> {
    const certificate = await options.certificate();
    const paths = new Paths();
    const server = createServer(
      {
        ...(await secureContext(options, certificate)),
        requestCert: options.clientCa !== undefined,
        requestTimeout: requestMs,
        minVersion: 'TLSv1.2',
      },
      (request, response) => {
        const cluster = request.method === 'POST' ? paths.clusterOf(request.url ?? '') : undefined;
        if (cluster === undefined) return refuse(response, 404);
        void answer(request, response, (review) => advise(review, cluster)).catch(() => response.destroy()); // who asked has gone
      },
    );
    server.maxConnections = mostConnections;
    server.listen(options.listen);
    await once(server, 'listening');
    server.on('error', () => undefined); // accepting fails when descriptors run out; the next attempt may not
    return new ExportWebhook(options, { certificate, server, paths });
  }

  get address(): { readonly address: string; readonly port: number } {
    return this.#server.address() as AddressInfo; // it listens at no pipe
  }

  /** Makes the server of a member ask here, or no longer if the member leaves. What somebody else wrote stays. */
  async introduce(member: Member, signal: AbortSignal): Promise<void> {
    const { client } = member;
    const kind = validatingWebhookConfigurationKind;
    const found = await client.find(kind, { name: configurationName }, { signal });
    if (found !== undefined && !isOurs(found)) {
      throw new Error(`ValidatingWebhookConfiguration ${configurationName} is somebody else's: rename or delete it`);
    }
    if (member.options.isLeaving === true) {
      if (found !== undefined) await client.delete(kind, { name: configurationName }, { signal });
      return;
    }
    const wanted = configurationOf({ url: `${this.#url}${this.#paths.pathOf(member.id)}`, ca: this.#certificate.ca });
    if (found === undefined) await client.create(kind, wanted, { signal });
    else if (!isSame(found, wanted))
      await client.update(kind, { ...found, webhooks: wanted.webhooks ?? [] }, { signal });
  }

  /** Shows another certificate from now on, if there is one; members are to be told then. */
  async renew(): Promise<void> {
    const next = await this.#options.certificate();
    if (next.cert === this.#certificate.cert && this.#options.clientCa === undefined) return;
    this.#server.setSecureContext(await secureContext(this.#options, next));
    this.#certificate = next;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections(); // an answer takes a millisecond, and without it exports go on
    await closed;
  }

  get #url(): string {
    const { address, port } = this.address;
    return this.#options.url ?? `https://${joinHostPort(address, port)}`;
  }
}

/** Whether a server that was told `wanted` and filled in the rest would keep `found`. */
function isSame(found: Registered, wanted: Registered): boolean {
  const filled = validatingWebhookConfigurationKind.applyDefaults(wanted);
  return isDeepStrictEqual(found.webhooks, filled.webhooks); // servers order fields as they like
}

type Registered = ReturnType<typeof configurationOf>;

/** What a TLS server is made of. */
async function secureContext(
  { clientCa }: WebhookOptions,
  { cert, key }: Certificate,
): Promise<{ readonly cert: string; readonly key: string; readonly ca?: string }> {
  return { cert, key, ...(clientCa === undefined ? {} : { ca: await clientCa() }) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  advise: (review: ExportReview) => readonly string[],
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return refuse(response, 413);
    chunks.push(chunk);
  }
  const review = readReview(parsed(Buffer.concat(chunks).toString()));
  if (review === undefined) return refuse(response, 400);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(allowed(review, advise(review))));
}

function refuse(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.setHeader('Connection', 'close');
  response.end();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // no question
  }
}
