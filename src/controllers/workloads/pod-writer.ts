import { messageOf } from '../../api/error-message.ts';
import type { Kind } from '../../api/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Expectations } from '../../client/expectations.ts';
import { keyOf, nameOf } from '../../client/key.ts';
import { isNamespaceEnding } from '../slice-writer.ts';

/** The largest number of Pods that one sync creates or deletes. */
export const maxPodsPerSync = 500;

/** A failure that the status of the owner reports. */
export interface WriteFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly error: unknown;
}

/** The messages of Events about the Pods of an owner. */
export interface PodTexts {
  created(owner: string, pod: string): string;
  notCreated(owner: string, pod: string, why: string): string;
  deleted(owner: string, pod: string): string;
  notDeleted(owner: string, pod: string, why: string): string;
}

const usualTexts: PodTexts = {
  created: (_owner, pod) => `Created pod: ${pod}`,
  notCreated: (_owner, _pod, why) => `Error creating: ${why}`,
  deleted: (_owner, pod) => `Deleted pod: ${pod}`,
  notDeleted: (_owner, _pod, why) => `Error deleting: ${why}`,
};

/** The dependencies of a PodWriter. */
export interface PodWriterOptions {
  readonly client: Client;
  readonly recorder: EventRecorder;
  /** Writes that the cache of Pods does not contain yet, by key of the owner. */
  readonly writes: Expectations;
  readonly texts?: PodTexts | undefined;
}

/** Creates and deletes the Pods of owners, with Events about the owner. */
export class PodWriter<T extends ApiObject> {
  readonly #kind: Kind<T>;
  readonly #options: PodWriterOptions;
  readonly #texts: PodTexts;

  constructor(kind: Kind<T>, options: PodWriterOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#texts = options.texts ?? usualTexts;
  }

  /**
   * Creates Pods in batches of 1, 2, 4, …, so that a rejection of all, such as by a quota, costs few requests. Stops after a
   * batch with a failure and returns the first one. A namespace that is being deleted is not a failure.
   */
  async create(owner: T, pods: readonly Pod[], signal: AbortSignal): Promise<WriteFailure | undefined> {
    let first: unknown;
    let hasFailed = false;
    for (let [start, size] = [0, 1]; start < pods.length && !hasFailed; start += size / 2) {
      const batch = pods.slice(start, start + size);
      const results = await Promise.allSettled(batch.map((pod) => this.#create(owner, pod, signal)));
      for (const result of results) {
        if (result.status === 'fulfilled') continue;
        first ??= result.reason;
        hasFailed = true;
      }
      size *= 2;
    }
    return hasFailed && !isNamespaceEnding(first) ? { reason: 'FailedCreate', error: first } : undefined;
  }

  async #create(owner: T, pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, writes } = this.#options;
    const { name: ownerName = '' } = owner.metadata;
    try {
      const created = await client.create(podKind, pod, { signal, metadataOnly: true });
      writes.wrote(keyOf(owner), created, pod);
      this.#record(owner, 'Normal', 'SuccessfulCreate', this.#texts.created(ownerName, created.metadata.name ?? ''));
    } catch (error) {
      if (!signal.aborted && !isNamespaceEnding(error)) {
        const text = this.#texts.notCreated(ownerName, pod.metadata.name ?? '', messageOf(error));
        this.#record(owner, 'Warning', 'FailedCreate', text);
      }
      throw error;
    }
  }

  /** Deletes Pods at once and returns the first failure. */
  async remove(owner: T, pods: readonly Pod[], signal: AbortSignal): Promise<WriteFailure | undefined> {
    const results = await Promise.allSettled(pods.map((pod) => this.#remove(owner, pod, signal)));
    const failed = results.find((result) => result.status === 'rejected');
    return failed === undefined ? undefined : { reason: 'FailedDelete', error: failed.reason };
  }

  async #remove(owner: T, pod: Pod, signal: AbortSignal): Promise<void> {
    const { client, writes } = this.#options;
    const { uid = '' } = pod.metadata;
    const { name: ownerName = '' } = owner.metadata;
    const { name = '' } = pod.metadata;
    try {
      await client.delete(podKind, nameOf(pod), { preconditions: { uid }, signal });
      writes.removed(keyOf(owner), pod);
      this.#record(owner, 'Normal', 'SuccessfulDelete', this.#texts.deleted(ownerName, name));
    } catch (error) {
      if (!signal.aborted) {
        this.#record(owner, 'Warning', 'FailedDelete', this.#texts.notDeleted(ownerName, name, messageOf(error)));
      }
      throw error;
    }
  }

  #record(owner: T, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.recorder.record(this.#kind, owner, { type, reason, message });
  }
}
