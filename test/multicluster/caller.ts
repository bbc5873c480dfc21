import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** The timeout of a call. */
export const callMs = 3000;

/** The result and the time of a call. */
export interface Call {
  readonly atMs: number;
  /** The cluster that answered; undefined: the caller got an error. */
  readonly from: string | undefined;
}

/** A client that calls continuously, with a new connection each time. */
export class Caller implements AsyncDisposable {
  readonly calls: Call[] = [];
  readonly #end = new AbortController();
  readonly #running: Promise<void>;

  constructor(url: string) {
    this.#running = this.#run(url);
  }

  async #run(url: string): Promise<void> {
    while (!this.#end.signal.aborted) {
      const atMs = performance.now();
      this.calls.push({ atMs, from: await answerOf(url) });
      await delay(5);
    }
  }

  get errors(): readonly Call[] {
    return this.calls.filter(({ from }) => from === undefined);
  }

  /** The clusters that answered the last calls. */
  last(count: number): string {
    return [...new Set(this.calls.slice(-count).map(({ from = 'nobody' }) => from))].toSorted().join();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#running;
  }
}

/** One request over a new connection. */
export function answerOf(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(url, { agent: false, timeout: callMs }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text.trim()));
      response.on('error', () => resolve(undefined));
    });
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(undefined));
    outgoing.end();
  });
}
