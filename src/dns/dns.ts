import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { PartContext, RunningPart } from '../client/part.ts';
import type { DnsOptions } from './options.ts';
import { listenAddresses, readResolvConf } from './machine.ts';
import { serverStateMetrics, serverMetrics } from './metrics.ts';
import type { ClusterNetwork } from './serving.ts';
import { Serving } from './serving.ts';
import type { ListenAddress } from './transport/protocol.ts';
import type { RunningDns } from './transport/server.ts';
import { startDnsServer } from './transport/server.ts';

/** A running DNS server. */
export interface RunningDnsPart extends RunningPart {
  /**
   * Switches to other options without losing a query; resolves when the new ones are in use. The listen addresses, the
   * number of threads and the response rate do not change.
   */
  reload(options: DnsOptions): Promise<void>;
}

/** Starts a DNS server for a cluster. It listens at once; until the first sync it denies no name (SERVFAIL). */
export const startDns = (context: PartContext, options: DnsOptions, cluster: ClusterNetwork = {}): RunningDnsPart =>
  new Dns(context, options, cluster);

/** Options for a reload: these options, with those of `current` that cannot change while the server runs. */
const withFixedOptions = (options: DnsOptions, current: DnsOptions): DnsOptions => {
  const { listen, workers, sharePort, responseRate } = current;
  return { ...options, listen, workers, sharePort, responseRate };
};

class Dns implements RunningDnsPart {
  readonly ready: Promise<void>;
  readonly #context: PartContext;
  readonly #cluster: ClusterNetwork;
  readonly #cookieSecrets = [randomBytes(16)];
  readonly #label: string;
  /** Resolves when the sockets are open. */
  readonly #opened: Promise<void>;
  #options: DnsOptions;
  #serving: Serving | undefined;
  #server: RunningDns | undefined;
  readonly #stopping = Promise.withResolvers<void>();
  #reloading: Promise<void> = Promise.resolve();
  #isStopping = false;
  #errors = 0;
  #failedReloads = 0;

  constructor(context: PartContext, options: DnsOptions, cluster: ClusterNetwork) {
    this.#context = context;
    this.#options = options;
    this.#cluster = cluster;
    this.#label = `dns://:${options.listen[0]?.port ?? 53}`;
    this.#opened = this.#open();
    this.ready = this.#opened.then(() => this.#serving?.ready);
  }

  get listens(): readonly ListenAddress[] {
    return this.#server?.addresses ?? [];
  }

  problems(): readonly string[] {
    if (this.#isStopping) return ['the server is stopping'];
    if (this.#server === undefined) return ['the sockets are not open yet'];
    return this.#serving?.problems() ?? [];
  }

  reload(options: DnsOptions): Promise<void> {
    // Reloads run one after the other, in the order of the calls.
    const reloading = this.#reloading.then(() => this.#reload(options));
    this.#reloading = reloading.catch(() => void this.#failedReloads++);
    return reloading;
  }

  async #reload(options: DnsOptions): Promise<void> {
    await this.#opened;
    if (this.#isStopping) return;
    const previous = this.#serving;
    const next = await this.#serve(withFixedOptions(options, this.#options));
    // The previous instance answers until the new one has synced, however long the API server is unavailable.
    await Promise.race([next.ready, this.#stopping.promise]);
    if (this.#isStopping) return next.stop();
    this.#options = withFixedOptions(options, this.#options);
    this.#serving = next;
    await this.#server?.useTable(next.table, { recursionAvailable: next.forwarder !== undefined });
    this.#measure();
    await previous?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#stopping.resolve();
    await this.#reloading;
    // Clients notice the shutdown with a delay; keep answering until then.
    if (this.#server !== undefined && this.#options.lameduckMs > 0) await sleep(this.#options.lameduckMs);
    await this.#opened.catch(() => undefined);
    await this.#server?.close();
    await this.#serving?.stop();
  }

  async #open(): Promise<void> {
    const serving = await this.#serve(this.#options);
    this.#serving = serving;
    const { listen, workers, sharePort, responseRate, maxConnections } = this.#options;
    // With a shared port queries arrive as soon as it is open, and until the first sync the other server can answer them.
    if (sharePort) await Promise.race([serving.ready, this.#stopping.promise]);
    this.#server = await startDnsServer({
      listen: listenAddresses(listen),
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
        this.#context.log.warn({ err: error }, 'query or worker thread failed');
      },
    });
    this.#measure();
  }

  async #serve(options: DnsOptions): Promise<Serving> {
    const previous = this.#serving;
    return new Serving({
      ...this.#cluster,
      context: this.#context,
      options,
      resolvConf: await readResolvConf(),
      cookieSecrets: this.#cookieSecrets,
      label: this.#label,
      ...(previous === undefined ? {} : { previous }),
    });
  }

  #measure(): void {
    const { metrics } = this.#context;
    metrics.clear();
    this.#serving?.measure();
    if (this.#server !== undefined) serverMetrics(metrics, this.#server, this.#label);
    serverStateMetrics(metrics, this.#label, {
      errors: () => this.#errors,
      failedReloads: () => this.#failedReloads,
      forwards: () => this.#serving?.forwarder !== undefined,
    });
  }
}
