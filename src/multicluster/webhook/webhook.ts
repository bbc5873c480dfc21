import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import { joinHostPort } from '../../api/addresses.ts';
import { validatingWebhookConfigurationKind } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import type { Member } from '../member/member.ts';
import { isOurs } from '../project/labels.ts';
import { configurationName, configurationOf } from './configuration.ts';
import type { ExportReview } from './review.ts';
import { allowed, readReview } from './review.ts';

/** The certificate of the webhook, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** Its certificate authorities. */
  readonly ca: string;
}

export interface WebhookOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** The URL for API servers of members, without a path; undefined: its listen address. */
  readonly url?: string | undefined;
  /** Called at the start, and once a day for a renewed one. */
  readonly certificate: () => Promise<Certificate>;
  /** The authorities of client certificates, PEM; other clients are rejected. Default: no client certificate is required. */
  readonly clientCa?: (() => Promise<string>) | undefined;
  /** How often the configuration in members is checked; default a minute. */
  readonly checkMs?: number | undefined;
}

/** Returns the warnings for an export in a cluster. */
export type Advise = (review: ExportReview, cluster: string) => readonly string[];

/** An AdmissionReview of an export is a few kilobytes. */
const maxBytes = 1024 * 1024;
const requestMs = 10_000;
const maxConnections = 64;

/** Answers admission reviews of exports with warnings: POST to the path of the cluster. */
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

  /** Resolves when it listens; rejects if it cannot. */
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
        void answer(request, response, (review) => advise(review, cluster)).catch(() => response.destroy()); // the client has disconnected
      },
    );
    server.maxConnections = maxConnections;
    server.listen(options.listen);
    await once(server, 'listening');
    server.on('error', () => undefined); // accepting fails when there are no descriptors left; a later connection may succeed
    return new ExportWebhook(options, { certificate, server, paths });
  }

  get address(): { readonly address: string; readonly port: number } {
    return this.#server.address() as AddressInfo; // not a pipe
  }

  /** Writes the webhook configuration of a member, or deletes it if the member leaves. One of another owner is not changed. */
  async register(member: Member, signal: AbortSignal): Promise<void> {
    const { client } = member;
    const kind = validatingWebhookConfigurationKind;
    const found = await client.find(kind, { name: configurationName }, { signal });
    if (found !== undefined && !isOurs(found)) {
      throw new Error(
        `ValidatingWebhookConfiguration ${configurationName} belongs to another owner: rename or delete it`,
      );
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

  /** Loads a renewed certificate, if there is one; the configuration in members has to be updated afterwards. */
  async renew(): Promise<void> {
    const next = await this.#options.certificate();
    if (next.cert === this.#certificate.cert && this.#options.clientCa === undefined) return;
    this.#server.setSecureContext(await secureContext(this.#options, next));
    this.#certificate = next;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections(); // responses take a millisecond, and exports proceed without them
    await closed;
  }

  get #url(): string {
    const { address, port } = this.address;
    return this.#options.url ?? `https://${joinHostPort(address, port)}`;
  }
}

/** Whether `found` is `wanted` with the server's defaults. */
function isSame(found: Registered, wanted: Registered): boolean {
  const filled = validatingWebhookConfigurationKind.applyDefaults(wanted);
  return isDeepStrictEqual(found.webhooks, filled.webhooks); // the order of fields does not matter
}

type Registered = ReturnType<typeof configurationOf>;

/** The TLS options of the server. */
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
    return undefined; // not JSON
  }
}

/**
 * The paths of the webhook: one for each cluster, with a secret that is new at every start. The webhook configuration passes it to
 * the API server of that cluster, which authenticates it as a member of the set.
 */
class Paths {
  readonly #key = randomBytes(32);

  /** The path for the API server of `cluster`. */
  pathOf(cluster: string): string {
    return `/exports/${cluster}/${this.#secretOf(cluster).toString('base64url')}`;
  }

  /** The cluster of a request; undefined if the path is not exactly the one of a cluster. */
  clusterOf(url: string): string | undefined {
    const [, cluster = '', given = ''] = /^\/exports\/([^/?]{1,63})\/([\w-]{43})(?:\?|$)/.exec(url) ?? [];
    const bytes = Buffer.from(given, 'base64url');
    const secret = this.#secretOf(cluster);
    return bytes.length === secret.length && timingSafeEqual(bytes, secret) ? cluster : undefined;
  }

  #secretOf(cluster: string): Buffer {
    return createHmac('sha256', this.#key).update(cluster).digest();
  }
}
