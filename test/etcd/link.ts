import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** A network link between one server and one member of etcd, which can be cut or delayed. */
export class Link implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #delayMs = 0;
  /** Resolves when the link is not cut. */
  #whole: PromiseWithResolvers<void> | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `host` is the address of the link. */
  static async open(target: string, host = '127.0.0.1'): Promise<Link> {
    const server = createServer();
    const link = new Link(server);
    const { hostname, port } = new URL(target);
    server.on('connection', (near) => link.#join(near, connect({ host: hostname, port: Number(port) })));
    await once(server.listen(0, host), 'listening');
    return link;
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  /** From now on nothing passes, in silence: connections stay open, as when packets are dropped. */
  cut(): void {
    this.#whole ??= Promise.withResolvers();
  }

  /** Delivers what was held back, as retransmission does. */
  heal(): void {
    this.#whole?.resolve();
    this.#whole = undefined;
  }

  /** Delays everything in both directions. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    const closed = once(this.#server.close(), 'close');
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket, far: Socket): void {
    const destroy = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', destroy).on('close', () => {
        this.#sockets.delete(socket);
        destroy();
      });
    }
    near.pipe(this.#line()).pipe(far);
    far.pipe(this.#line()).pipe(near);
  }

  #line(): Transform {
    const pass = async (): Promise<void> => {
      await sleep(this.#delayMs);
      await this.#whole?.promise;
    };
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => void pass().then(() => done(null, chunk)),
    });
  }
}
