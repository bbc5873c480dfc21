import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { PartContext, RunningPart } from '../client/part.ts';
import type { DnsOptions } from './config.ts';
import { listenPlaces, readResolvConf } from './machine.ts';
import { lifeMetrics, serverMetrics } from './metrics.ts';
import type { DnsSurroundings } from './serving.ts';
import { Serving } from './serving.ts';
import type { ListenAddress } from './transport/protocol.ts';
import type { RunningDns } from './transport/server.ts';
import { startDnsServer } from './transport/server.ts';

/** A DNS server at work. */
export interface RunningDnsPart extends RunningPart {
  /**
   * Answers by other options from now on, without a query lost; resolves when it does. The listen addresses, the number
   * of threads and the response rate stay as they were.
   */
  reload(options: DnsOptions): Promise<void>;
}

/** Starts a DNS server for a cluster. It listens at once, and denies nothing before it has read everything. */
export const startDns = (
  context: PartContext,
  options: DnsOptions,
  surroundings: DnsSurroundings = {},
): RunningDnsPart => new Dns(context, options, surroundings);

/** Other options, at the place of the old ones. */
const keepPlace = (options: DnsOptions, { listen, workers, sharePort, responseRate }: DnsOptions): DnsOptions => ({
  ...options,
  listen,
  workers,
  sharePort,
  responseRate,
});

class Dns implements RunningDnsPart {
  readonly ready: Promise<void>;
  readonly #context: PartContext;
  readonly #surroundings: DnsSurroundings;
  readonly #cookieSecrets = [randomBytes(16)];
  readonly #label: string;
  /** Resolves when it listens. */
  readonly #opened: Promise<void>;
  #options: DnsOptions;
  #serving: Serving | undefined;
  #server: RunningDns | undefined;
  readonly #stopping = Promise.withResolvers<void>();
  #reloading: Promise<void> = Promise.resolve();
  #isStopping = false;
  #errors = 0;
  #failedReloads = 0;

  constructor(context: PartContext, options: DnsOptions, surroundings: DnsSurroundings) {
    this.#context = context;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#label = `dns://:${options.listen[0]?.port ?? 53}`;
    this.#opened = this.#open();
    this.ready = this.#opened.then(() => this.#serving?.ready);
  }

  get listens(): readonly ListenAddress[] {
    return this.#server?.addresses ?? [];
  }

  problems(): readonly string[] {
    if (this.#isStopping) return ['it is stopping'];
    if (this.#server === undefined) return ['it does not listen yet'];
    return this.#serving?.problems() ?? [];
  }

  reload(options: DnsOptions): Promise<void> {
    // One at a time, in the order they were asked for.
    const reloading = this.#reloading.then(() => this.#reload(options));
    this.#reloading = reloading.catch(() => void this.#failedReloads++);
    return reloading;
  }

  async #reload(options: DnsOptions): Promise<void> {
    await this.#opened;
    if (this.#isStopping) return;
    const before = this.#serving;
    const next = await this.#serve(keepPlace(options, this.#options));
    // The old one goes on until the new one knows as much, however long the API server is away.
    await Promise.race([next.ready, this.#stopping.promise]);
    if (this.#isStopping) return next.stop();
    this.#options = keepPlace(options, this.#options);
    this.#serving = next;
    await this.#server?.useTable(next.table, { recursionAvailable: next.forwarder !== undefined });
    this.#measure();
    await before?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#stopping.resolve();
    await this.#reloading;
    // Those who ask learn only after a while that they should ask others; until then they get their answers.
    if (this.#server !== undefined && this.#options.lameduckMs > 0) await sleep(this.#options.lameduckMs);
    await this.#opened.catch(() => undefined);
    await this.#server?.close();
    await this.#serving?.stop();
  }

  async #open(): Promise<void> {
    const serving = await this.#serve(this.#options);
    this.#serving = serving;
    const { listen, workers, sharePort, responseRate, maxConnections } = this.#options;
    // Who shares a port gets questions at once, and another could answer them until this one can.
    if (sharePort) await Promise.race([serving.ready, this.#stopping.promise]);
    this.#server = await startDnsServer({
      listen: listenPlaces(listen),
      workers,
      share: sharePort,
      table: serving.table,
      limits: {
        ...(responseRate === 0 ? {} : { responsesPerClient: { perSecond: responseRate } }),
        ...(maxConnections === undefined ? {} : { maxConnections }),
      },
      reply: { recursionAvailable: serving.forwarder !== undefined, cookieSecrets: this.#cookieSecrets },
      slowPath: async (query, client) => (await this.#serving?.slowPath(query, client)) ?? [],
      onError: (error) => {
        this.#errors++;
        this.#context.log.warn({ err: error }, 'DNS goes on');
      },
    });
    this.#measure();
  }

  async #serve(options: DnsOptions): Promise<Serving> {
    const before = this.#serving;
    return new Serving({
      ...this.#surroundings,
      context: this.#context,
      options,
      resolvConf: await readResolvConf(),
      cookieSecrets: this.#cookieSecrets,
      label: this.#label,
      ...(before === undefined ? {} : { before }),
    });
  }

  #measure(): void {
    const { metrics } = this.#context;
    metrics.clear();
    this.#serving?.measure();
    if (this.#server !== undefined) serverMetrics(metrics, this.#server, this.#label);
    lifeMetrics(metrics, this.#label, {
      errors: () => this.#errors,
      failedReloads: () => this.#failedReloads,
      forwards: () => this.#serving?.forwarder !== undefined,
    });
  }
}
