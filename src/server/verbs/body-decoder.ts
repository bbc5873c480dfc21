import { entityTooLarge } from '../../api/errors.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { jsonSteps } from '../../api/schema/json.ts';
import { TooManyValuesError } from '../../api/schema/value-budget.ts';
import { parseYaml, parseYamlAsJson } from '../../api/schema/yaml.ts';
import type { Work } from '../limits/time-slicer.ts';
import { YamlThread } from './yaml-thread.ts';

/** Smaller YAML takes less than 30 ms of the event loop, whatever it contains. */
const smallYamlBytes = 64 * 1024;

/** Decodes the bodies of requests: JSON in slices, large YAML in a thread. */
export class BodyDecoder implements AsyncDisposable {
  readonly #yaml = new YamlThread();

  /** The value of a body and its duplicate keys. Rejects with a 413 for too many values, else `JsonError` or `YamlError`. */
  async decode(bytes: Buffer, type: 'json' | 'yaml', work: Work): Promise<ParsedJson> {
    const text = bytes.toString(); // invalid UTF-8 becomes U+FFFD, as in Go's decoder
    if (type === 'json') return withLimit(() => work.runSteps(jsonSteps(text)));
    if (bytes.length <= smallYamlBytes) return decodeStage(work, () => parseYaml(text));
    const parsed = await decodeStage(work, () => parseYamlAsJson(text));
    if (parsed !== undefined) return parsed;
    const { json, duplicates } = await withLimit(() => this.#yaml.parse(text));
    return work.run((): ParsedJson => ({ value: JSON.parse(json), duplicates }));
  }

  /** Waits for documents that are being parsed and ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#yaml[Symbol.asyncDispose]();
  }
}

/** Runs a stage of decoding, which is linear in the body. Rejects with a 413 for a body with too many values. */
export const decodeStage = <T>(work: Work, decode: () => T): Promise<T> => withLimit(() => work.run(decode));

async function withLimit<T>(decode: () => T | Promise<T>): Promise<T> {
  try {
    return await decode();
  } catch (error) {
    throw error instanceof TooManyValuesError ? entityTooLarge(error.message) : error;
  }
}
