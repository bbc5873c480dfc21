// A client with little overhead, so that mainly the server is measured: raw HTTP/1.1 over TLS, one request at a time per
// connection, and no headers parsed except status and length.

import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

/** One connection. */
export class Connection {
  readonly #socket: TLSSocket;
  readonly #head: string;
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #waiting: { resolve(response: Response): void; reject(error: Error): void } | undefined;

  private constructor(socket: TLSSocket, target: Target) {
    this.#socket = socket;
    this.#head = `Host: ${target.host}\r\nAuthorization: Bearer ${target.token}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n`;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
  }

  static open(target: Target): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: target.host,
        port: target.port,
        rejectUnauthorized: false, // the server's own CA; nothing is trusted here
        ALPNProtocols: ['http/1.1'],
      });
      socket.setNoDelay(true);
      socket.once('secureConnect', () => resolve(new Connection(socket, target)));
      socket.once('error', reject);
    });
  }

  request(method: string, path: string, body = '', type = 'application/json'): Promise<Response> {
    const entity = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${entity}\r\n${body}`);
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
  }

  /** Everything that the server sends from now on, for watches. */
  stream(path: string, onData: (chunk: Buffer) => void): void {
    this.#socket.removeAllListeners('data');
    this.#socket.on('data', onData);
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`);
  }

  /** Sends a request and never reads the response. */
  ignore(path: string): void {
    this.#socket.removeAllListeners('data');
    this.#socket.pause();
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    const first = this.#received[0] ?? chunk;
    const end = first.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#received = [Buffer.concat(this.#received)];
      return;
    }
    const head = first.toString('latin1', 0, end);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    const isWhole =
      length === undefined
        ? chunk.subarray(-5).toString() === '0\r\n\r\n'
        : this.#receivedBytes >= end + 4 + Number(length);
    if (!isWhole) return;
    const whole = Buffer.concat(this.#received);
    this.#received = [];
    this.#receivedBytes = 0;
    this.#waiting?.resolve({
      status: Number(head.slice(9, 12)),
      bytes: whole.length - end - 4,
      body: whole.subarray(end + 4),
    });
  }
}

export interface Response {
  readonly status: number;
  readonly bytes: number;
  readonly body: Buffer;
}

/** Runs `count` requests over `clients` connections, to the servers in turn; resolves with the duration in seconds. */
export async function load(
  target: Target | readonly Target[],
  {
    clients,
    count,
    request,
  }: { clients: number; count: number; request: (index: number) => [string, string, string?, string?] },
): Promise<number> {
  const targets = [target].flat();
  const open = (index: number): Promise<Connection> => {
    const chosen = targets[index % targets.length];
    if (chosen === undefined) throw new Error('bug: there is no server to measure');
    return Connection.open(chosen);
  };
  const connections = await Promise.all(Array.from({ length: clients }, (_, index) => open(index)));
  let next = 0;
  const started = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) {
        const index = next++;
        const { status, body } = await connection.request(...request(index));
        if (status >= 300) throw new Error(`request ${index}: ${status} ${body.toString().slice(0, 300)}`);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  for (const connection of connections) connection.close();
  return seconds;
}
