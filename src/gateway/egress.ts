import type { Socket as DatagramSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { ClientHttp2Stream } from 'node:http2';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import { printPlace, serverNameOf } from '../api/kinds/multicluster/gateway.ts';
import { join } from '../streams/http2-session.ts';
import { DatagramReader, frameOf } from './datagrams.ts';
import { headerNames } from './identity.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { Egress } from './routes.ts';
import type { SessionPool } from './session-pool.ts';
import { setTimeout } from '../machine/timers.ts';

export interface EgressOptions {
  /** The address of this gateway in its own cluster. */
  readonly address: string;
  readonly pool: SessionPool;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Clients of all ports at once, and datagram flows of one port. */
const maxConnections = 20_000;
const maxFlows = 4096;
const flowIdleMs = 60_000;
/** Datagrams of a flow that wait for its stream, and bytes that wait in it; more are dropped, as in a full queue of a router. */
const maxWaiting = 16;
const maxWaitingBytes = 256 << 10;
const maxDatagram = 65_507;

/** The listeners in this cluster whose connections go to services of other clusters. */
export class EgressListeners implements AsyncDisposable {
  readonly #options: EgressOptions;
  /** `protocol/port` → its listener. */
  readonly #listeners = new Map<string, Listener>();
  #connections = 0;

  constructor(options: EgressOptions) {
    this.#options = options;
  }

  /** Opens and closes listeners. Connections of a listener that stays continue. */
  update(routes: ReadonlyMap<string, Egress>): void {
    for (const [key, listener] of this.#listeners) {
      const route = routes.get(key);
      const isSame = route !== undefined && identityOf(route) === identityOf(listener.route);
      if (isSame) listener.route = route;
      else {
        this.#listeners.delete(key);
        listener.close();
      }
    }
    for (const [key, route] of routes) if (!this.#listeners.has(key)) this.#listeners.set(key, this.#open(route));
  }

  /** Opens the ports again that could not be opened. */
  retry(): void {
    const failed = new Map([...this.#listeners].filter(([, { problem }]) => problem !== undefined));
    for (const [key, listener] of failed) {
      listener.close();
      this.#listeners.set(key, this.#open(listener.route));
    }
  }

  /** A sentence for each port that cannot be opened. */
  problems(): readonly string[] {
    return [...this.#listeners.values()].flatMap(({ route, problem }) =>
      problem === undefined
        ? []
        : [`cannot listen on ${this.#options.address}:${route.port} for ${serverNameOf(route.service)}: ${problem}`],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners.values()) listener.close();
    this.#listeners.clear();
  }

  #open(route: Egress): Listener {
    return route.protocol === 'TCP' ? this.#tcp(route) : this.#udp(route);
  }

  #tcp(route: Egress): Listener {
    const sockets = new Set<Socket>();
    const server: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
      if (this.#connections >= maxConnections) {
        socket.resetAndDestroy();
        return;
      }
      this.#connections++;
      sockets.add(socket);
      socket.once('close', () => {
        this.#connections--;
        sockets.delete(socket);
      });
      void this.#connect(socket, listener.route); // handles its errors
    });
    const listener: Listener = {
      route,
      problem: undefined,
      close() {
        server.close();
        for (const socket of sockets) socket.destroy();
      },
    };
    server.on('error', (error) => {
      if (!server.listening) listener.problem = messageOf(error);
    });
    server.listen(route.port, this.#options.address);
    return listener;
  }

  async #connect(socket: Socket, route: Egress): Promise<void> {
    const { pool, log, metrics } = this.#options;
    const { cluster } = route.service;
    socket.on('error', () => socket.destroy());
    try {
      const stream = await pool.open(route, headersOf(route, socket.remoteAddress, socket.remotePort));
      if (socket.destroyed) {
        stream.destroy();
        return;
      }
      metrics.connections.inc({ cluster, direction: 'out', result: 'connected' });
      join(socket, stream);
    } catch (error) {
      metrics.connections.inc({ cluster, direction: 'out', result: 'failed' });
      log.debug(
        { service: serverNameOf(route.service), reason: messageOf(error) },
        'connection to another cluster failed',
      );
      socket.resetAndDestroy();
    }
  }

  #udp(route: Egress): Listener {
    const { address, pool, metrics } = this.#options;
    const socket: DatagramSocket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const flows = new Map<string, Flow>();
    const listener: Listener = {
      route,
      problem: undefined,
      close() {
        socket.close();
        for (const flow of flows.values()) flow.end();
      },
    };
    let isBound = false;
    socket.once('listening', () => (isBound = true));
    socket.on('error', (error) => {
      if (!isBound) listener.problem = messageOf(error); // otherwise a datagram could not be sent, and is dropped
    });
    socket.on('message', (datagram, client) => {
      const from = printPlace({ host: client.address, port: client.port });
      let flow = flows.get(from);
      if (flow === undefined) {
        if (flows.size >= maxFlows) return;
        flow = new Flow({
          open: () => pool.open(listener.route, headersOf(listener.route, client.address, client.port)),
          reply: (bytes) => socket.send(bytes, client.port, client.address),
          onEnd: () => flows.delete(from),
        });
        flows.set(from, flow);
        metrics.connections.inc({ cluster: route.service.cluster, direction: 'out', result: 'datagrams' });
      }
      flow.send(datagram);
    });
    socket.bind(route.port, address);
    return listener;
  }
}

interface Listener {
  route: Egress;
  problem: string | undefined;
  close(): void;
}

const identityOf = ({ service, remotePort }: Egress): string => `${serverNameOf(service)} ${remotePort}`;

const headersOf = ({ remotePort }: Egress, host = '', port = 0): Record<string, string> => ({
  [headerNames.port]: remotePort,
  [headerNames.client]: printPlace({ host, port }),
});

interface FlowOptions {
  readonly open: () => Promise<ClientHttp2Stream>;
  readonly reply: (datagram: Buffer) => void;
  readonly onEnd: () => void;
}

/** The datagrams between one client and a service, until neither has sent any for a while. */
class Flow {
  readonly #options: FlowOptions;
  #waiting: Buffer[] = [];
  #stream: ClientHttp2Stream | undefined;
  #idle: NodeJS.Timeout;
  #hasEnded = false;

  constructor(options: FlowOptions) {
    this.#options = options;
    this.#idle = setTimeout(() => this.end(), flowIdleMs);
    options.open().then(
      (stream) => this.#start(stream),
      () => this.end(),
    );
  }

  send(datagram: Buffer): void {
    this.#idle.refresh();
    if (this.#stream === undefined) {
      if (this.#waiting.length < maxWaiting) this.#waiting.push(datagram);
    } else if (this.#stream.writableLength < maxWaitingBytes) this.#stream.write(frameOf(datagram));
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idle);
    this.#stream?.close();
    this.#options.onEnd();
  }

  #start(stream: ClientHttp2Stream): void {
    if (this.#hasEnded) {
      stream.close();
      return;
    }
    this.#stream = stream;
    const reader = new DatagramReader();
    stream.on('data', (bytes: Buffer) => {
      if (this.#hasEnded) return; // the socket may be closed
      this.#idle.refresh();
      for (const datagram of reader.read(bytes)) if (datagram.length <= maxDatagram) this.#options.reply(datagram);
    });
    stream.once('close', () => this.end());
    for (const datagram of this.#waiting) stream.write(frameOf(datagram));
    this.#waiting = [];
  }
}
