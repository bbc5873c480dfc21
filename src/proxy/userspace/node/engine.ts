// Relays with Node's sockets, where native calls are not available.
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { canonicalAddress } from '../../../api/addresses.ts';
import { afterPendingReads, systemClock } from '../../../client/clock.ts';
import { setTimeout } from '../../../machine/timers.ts';
import { Counters } from '../counters.ts';
import type { ListenRequest, Engine, Listener } from '../engine.ts';
import type { UserspaceLimits } from '../options.ts';
import { dialTimeoutMs, dialTimeoutsMs } from '../options.ts';
import { isOutOfDescriptors } from '../problem.ts';
import type { PendingConnection, BalancerChange } from '../balancer.ts';
import { Balancer } from '../balancer.ts';

export interface NodeEngineOptions {
  readonly limits: UserspaceLimits;
  readonly drainMs: number;
}

/** Detects dead peers after some minutes. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Relays on the event loop of this thread. */
export class NodeEngine implements Engine {
  readonly #options: NodeEngineOptions;
  readonly #counters = new Counters();
  readonly #balancer: Balancer;
  readonly #servers = new Set<Server>();
  readonly #clients = new Set<Socket>();
  /** Address → number of its connections. */
  readonly #perAddress = new Map<string, number>();
  #onEmpty = (): void => {};

  constructor(options: NodeEngineOptions) {
    this.#options = options;
    this.#balancer = new Balancer({
      random: Math.random,
      now: () => performance.now(),
      maxAffinityEntries: options.limits.affinityEntries,
      maxAttempts: dialTimeoutsMs.length,
    });
  }

  get counters(): readonly Counters[] {
    return [this.#counters];
  }

  change(change: BalancerChange): Promise<void> {
    this.#balancer.change(change);
    return Promise.resolve();
  }

  async open(request: ListenRequest): Promise<Listener> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true, ...keepAlive });
    server.on('connection', (client) => this.#accept(client, request));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: request.address, port: request.port, backlog: 4096 }, resolve);
    });
    server.on('error', () => this.#counters.add('limited')); // accepting fails when descriptors run out
    this.#servers.add(server);
    return {
      close: () => {
        this.#servers.delete(server);
        // Not awaited: it calls back when the last connection has ended, which may take days.
        server.close();
        return Promise.resolve();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) server.close();
    if (this.#clients.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      const timer = setTimeout(resolve, this.#options.drainMs);
      await promise;
      clearTimeout(timer);
    }
    for (const client of this.#clients) client.resetAndDestroy();
  }

  #accept(client: Socket, { key, address }: ListenRequest): void {
    const { limits } = this.#options;
    this.#counters.add('accepted');
    const own = this.#perAddress.get(address) ?? 0;
    client.on('error', () => {}); // 'close' follows
    if (this.#clients.size >= limits.connections || own >= limits.connectionsPerAddress) {
      this.#counters.add('limited');
      return void client.resetAndDestroy();
    }
    this.#clients.add(client);
    this.#counters.add('open');
    this.#perAddress.set(address, own + 1);
    client.once('close', () => this.#leave(client, address));
    const source = canonicalAddress(client.remoteAddress ?? '') ?? '';
    this.#dial(client, { key, source, sourcePort: client.remotePort ?? 0, failed: new Set() });
  }

  #leave(client: Socket, address: string): void {
    this.#clients.delete(client);
    this.#counters.add('open', -1);
    this.#counters.add('bytesUp', client.bytesRead);
    this.#counters.add('bytesDown', client.bytesWritten);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(address);
    else this.#perAddress.set(address, left);
    if (this.#clients.size === 0) this.#onEmpty();
  }

  #dial(client: Socket, pending: PendingConnection): void {
    const decision = this.#balancer.choose(pending);
    if (decision.type !== 'forward') {
      this.#counters.add(pending.failed.size === 0 ? 'refused' : 'failed');
      return void client.resetAndDestroy();
    }
    const { target, isLast, proxyHeader } = decision;
    const { address: host, port } = target;
    const backend = connect({ host, port, allowHalfOpen: true, noDelay: true, ...keepAlive });
    const giveUp = (error?: Error): void => {
      cancel();
      client.off('close', abandon);
      backend.destroy();
      // Not a failure of the target.
      if (isOutOfDescriptors(error)) {
        this.#counters.add('limited');
        return void client.resetAndDestroy();
      }
      this.#counters.add('dialFailures');
      this.#balancer.failed(pending, target);
      this.#dial(client, pending);
    };
    const abandon = (): void => {
      cancel();
      backend
        .off('error', giveUp)
        .on('error', () => {})
        .destroy();
    };
    const cancel = afterPendingReads(systemClock, dialTimeoutMs(pending.failed.size, isLast), () => {
      backend.off('error', giveUp).on('error', () => {});
      giveUp();
    });
    backend.once('error', giveUp);
    client.once('close', abandon);
    backend.once('connect', () => {
      cancel();
      backend.off('error', giveUp);
      client.off('close', abandon);
      if (proxyHeader !== undefined) backend.write(proxyHeader);
      join(client, backend);
    });
  }
}

/** Relays bytes and half-closes in both directions; a reset of one side resets the other. */
function join(client: Socket, backend: Socket): void {
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    from.on('error', () => to.resetAndDestroy());
    from.once('close', () => {
      if (!to.destroyed && !(from.readableEnded && from.writableFinished)) to.resetAndDestroy();
    });
    from.pipe(to);
  }
  client.resume();
}
