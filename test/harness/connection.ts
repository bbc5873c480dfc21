import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect, constants } from 'node:http2';

import type { Credentials } from './server.ts';

/** An object as tests read it. */
export interface TestObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly [field: string]: any;
}

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}

/** An event of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: TestObject;
}

export interface Watch {
  /** Resolves when the stream has ended, by either side. */
  readonly ended: Promise<void>;
  close(): void;
}

/** One HTTP/2 connection of an administrator. Requests reject when it breaks: their outcome is then unknown. */
export class Connection implements Disposable {
  readonly #session: ClientHttp2Session;

  constructor(port: number, credentials: Credentials) {
    this.#session = connect(`https://127.0.0.1:${port}`, { ...credentials });
    this.#session.on('error', () => undefined); // every request on it rejects, which is where it is seen
  }

  async ask(method: string, path: string, body?: unknown, type = 'application/json'): Promise<Answer> {
    const stream = this.#session.request({ ':method': method, ':path': path, 'content-type': type });
    const answer = collect(stream);
    stream.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    const { status, text } = await answer;
    return { status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
  }

  /** Calls `onEvent` for each event in order; a rejected watch is an event `ERROR`, too. */
  watch(path: string, onEvent: (event: WatchEvent) => void): Watch {
    const stream = this.#session.request({ ':path': path });
    stream.setEncoding('utf8');
    let rest = '';
    let isAccepted = true;
    stream.on('response', (headers) => (isAccepted = headers[':status'] === 200));
    stream.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const read = JSON.parse(line) as unknown;
        onEvent((isAccepted ? read : { type: 'ERROR', object: read }) as WatchEvent);
      }
    });
    stream.on('error', () => undefined); // `ended` tells
    const ended = new Promise<void>((resolve) => stream.on('close', resolve));
    return { ended, close: () => stream.close(constants.NGHTTP2_CANCEL) };
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}

function collect(stream: ClientHttp2Stream): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let text = '';
    let isComplete = false;
    stream.setEncoding('utf8');
    stream.on('response', (headers) => (status = headers[':status'] ?? 0));
    stream.on('data', (chunk: string) => (text += chunk));
    stream.on('end', () => (isComplete = true));
    stream.on('error', reject);
    stream.on('close', () => {
      if (!isComplete || status === 0) reject(new Error('the connection broke'));
      else resolve({ status, text });
    });
  });
}
