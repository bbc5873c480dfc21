import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';

import { entityTooLarge } from '../../api/errors.ts';
import { TooManyValuesError } from '../../api/schema/value-budget.ts';
import { YamlError } from '../../api/schema/yaml.ts';
import { messageOf } from '../../api/error-message.ts';
import { startThread } from '../../machine/thread.ts';
import { setTimeout } from '../../machine/timers.ts';

/** A reply of the thread. */
export type YamlReply =
  | { readonly is: 'parsed'; readonly json: string; readonly duplicates: readonly string[] }
  | { readonly is: 'malformed'; readonly why: string }
  | { readonly is: 'too many values' };

/** A YAML document as JSON text, with its duplicate keys. */
type YamlAsJson = Extract<YamlReply, { is: 'parsed' }>;

interface ThreadLimits {
  readonly heapMb: number;
  readonly parseMs: number;
  /** The thread uses 20 MB, so it ends after this long without work. */
  readonly idleMs: number;
}

/** The worst document of 3 MiB needs 300 MB and a second of processor time. */
const defaults: ThreadLimits = { heapMb: 384, parseMs: 20_000, idleMs: 10_000 };

/**
 * Parses large YAML documents in a thread, one at a time: a YAML parser cannot pause, and needs half a second for 3 MiB.
 * The thread starts with the first document.
 */
export class YamlThread implements AsyncDisposable {
  readonly #limits: ThreadLimits;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: Partial<ThreadLimits> = {}) {
    this.#limits = { ...defaults, ...limits };
  }

  /** Rejects with a `YamlError`, a `TooManyValuesError`, or a 413 when the thread reaches a limit. */
  parse(text: string): Promise<YamlAsJson> {
    const result = this.#last.then(() => this.#parse(text));
    this.#last = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  /** Waits for documents that are being parsed and ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    clearTimeout(this.#idle);
    await this.#stop();
  }

  async #parse(text: string): Promise<YamlAsJson> {
    clearTimeout(this.#idle);
    this.#worker ??= startThread(program, { resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb } });
    const worker = this.#worker;
    worker.ref();
    try {
      worker.postMessage(text);
      const signal = AbortSignal.timeout(this.#limits.parseMs);
      const [reply] = (await once(worker, 'message', { signal })) as [YamlReply]; // yaml-worker.ts sends only this type
      return resultOf(reply);
    } catch (error) {
      if (error instanceof YamlError || error instanceof TooManyValuesError) throw error;
      await this.#stop();
      throw tooExpensive(error);
    } finally {
      worker.unref();
      this.#idle = setTimeout(() => void this.#stop(), this.#limits.idleMs).unref();
    }
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

// The worker has the extension of this file, in development and when built.
const program = new URL('./yaml-worker.ts', import.meta.url);

function resultOf(reply: YamlReply): YamlAsJson {
  if (reply.is === 'malformed') throw new YamlError(reply.why);
  if (reply.is === 'too many values') throw new TooManyValuesError();
  return reply;
}

const tooExpensive = (cause: unknown): Error =>
  entityTooLarge(
    `the YAML takes too much time or memory to parse (${messageOf(cause)}); send JSON, or fewer keys and anchors`,
  );
