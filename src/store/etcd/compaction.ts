import { setInterval, setTimeout } from '../../machine/timers.ts';
import type { EtcdClient } from './client.ts';
import { failureOf } from './failures.ts';
import type { Keys } from './keys.ts';
import type { WatchResponse } from './messages.ts';
import { bytesOfText, compact, txn, watch } from './messages.ts';

/** The key by which kube-apiservers of all prefixes elect the one that compacts. */
const key = 'compact_rev_key';

export interface CompactionOptions {
  readonly client: EtcdClient;
  /** The age of history to keep; the oldest is up to twice as old. */
  readonly keepMs: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Compacts etcd to the revision of one interval ago, as kube-apiserver does: of all servers that share etcd, the one whose
 * compare-and-swap succeeds compacts in this interval.
 */
export class Compaction implements AsyncDisposable {
  readonly #options: CompactionOptions;
  readonly #timer: NodeJS.Timeout;
  /** The number of writes of the key, and the revision, one interval ago. */
  #version = 0;
  #revision = 0;
  #running: Promise<void> | undefined;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#running ??= this.#compact().finally(() => (this.#running = undefined));
    }, options.keepMs);
    this.#timer.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #compact(): Promise<void> {
    const { client, onError } = this.#options;
    const target = this.#revision;
    try {
      const { succeeded, header, responses } = await client.call(txn, {
        compare: [{ key, version: this.#version }],
        success: [{ type: 'put', key, value: bytesOfText(String(target)) }],
        failure: [{ type: 'range', key }],
      });
      this.#revision = header.revision;
      const [found] = responses;
      if (!succeeded) this.#version = found?.type === 'range' ? versionOf(found.kvs[0]) : 0;
      else {
        this.#version++;
        if (target > 0) await client.call(compact, { revision: target });
      }
    } catch (error) {
      // Another server may have compacted further.
      if (failureOf(error) !== 'compacted') onError(error);
    }
  }
}

/** The message for the operator when a compaction fails. */
export const compactionProblem = (error: unknown): string =>
  failureOf(error) === 'denied'
    ? `cannot compact etcd: grant its user to read and write the key ${key}, or pass --etcd-compaction-interval 0 and let ` +
      'etcd compact (--auto-compaction-retention)'
    : 'failed to compact etcd, retrying';

const versionOf = (kv: { readonly version: number } | undefined): number => kv?.version ?? 0;

/** The revision to which etcd is compacted, which must be later than the first. */
export function compactedRevision(client: EtcdClient, { prefix, end }: Keys): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stream = client.stream(watch);
  const timer = setTimeout(() => stream.cancel(), answerMs);
  stream.on('data', ({ canceled, compactRevision, reason }: WatchResponse) => {
    if (compactRevision > 0) resolve(compactRevision);
    else if (canceled) reject(new Error(reason));
  });
  stream.on('error', reject);
  stream.on('end', () => reject(new Error('the watch ended')));
  stream.write({ type: 'create', key: prefix, end, from: 1 });
  return promise.finally(() => {
    clearTimeout(timer);
    stream.cancel();
  });
}

const answerMs = 5000;
