import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

/** The sockets of a flood, all closed at once. */
export class Flood implements Disposable {
  readonly #sockets: (Socket | UdpSocket)[] = [];

  /** Opens connections, a few hundred at a time, and resolves when each was attempted. Rejected connections are ignored. */
  async tcp(count: number, host: string, port: number, first: string | Buffer = ''): Promise<void> {
    for (let at = 0; at < count; at += 200) {
      const group = Array.from({ length: Math.min(200, count - at) }, () => connect({ host, port }));
      this.#sockets.push(...group);
      await Promise.all(
        group.map(async (socket) => {
          socket.on('error', () => undefined).resume();
          await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
          if (first.length > 0 && !socket.destroyed) socket.write(first);
        }),
      );
    }
  }

  async udp(count: number, host: string, port: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const socket = createSocket('udp4').on('error', () => undefined);
      this.#sockets.push(socket);
      await new Promise<void>((resolve) => socket.send('x', port, host, () => resolve()));
    }
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) {
      if ('destroy' in socket) socket.destroy();
      else socket.close();
    }
  }
}
