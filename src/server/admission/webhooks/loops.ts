import type { AdmissionAttributes } from '../attributes.ts';
import { targetOf } from '../attributes.ts';

/** Ordinary clients rarely have more than a few writes of one object in progress. */
const maxConcurrent = 16;

/**
 * Detects webhooks that cause the writes which they review: each call waits for the next one, so that calls by one user
 * for one object pile up until the first one times out.
 */
export class LoopDetector {
  readonly #running = new Map<string, number>();

  /** Runs a call. Throws if too many calls of the webhook by the same user for the same object wait already. */
  async run<T>(webhook: string, attributes: AdmissionAttributes, call: () => Promise<T>): Promise<T> {
    const { name, namespace } = targetOf(attributes);
    const key = JSON.stringify([webhook, attributes.user.name, attributes.kind.plural, namespace, name]);
    const running = this.#running.get(key) ?? 0;
    if (running >= maxConcurrent) {
      throw new Error(
        `${maxConcurrent} calls for the same object by ${JSON.stringify(attributes.user.name)} are in progress: ` +
          'the webhook seems to write the objects that it reviews; exclude its own writes with a match condition',
      );
    }
    this.#running.set(key, running + 1);
    try {
      return await call();
    } finally {
      const left = (this.#running.get(key) ?? 1) - 1;
      if (left === 0) this.#running.delete(key);
      else this.#running.set(key, left);
    }
  }
}
