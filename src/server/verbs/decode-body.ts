import { failure } from '../../api/errors.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { parseJson } from '../../api/schema/json.ts';
import { TooManyValuesError } from '../../api/schema/value-budget.ts';
import { parseYaml } from '../../api/schema/yaml.ts';
import type { Work } from '../limits/slices.ts';

/** The value of a body, and its duplicate keys. Throws a 413 for too many values, else a `JsonError` or a `YamlError`. */
export function decodeBody(bytes: Buffer, type: 'json' | 'yaml', work: Work): Promise<ParsedJson> {
  const parse = type === 'json' ? parseJson : parseYaml;
  return decodeStage(work, () => parse(bytes.toString())); // invalid UTF-8 becomes U+FFFD, as in Go's decoder
}

/** Runs a stage of decoding, which is linear in the body. Throws a 413 for a body with too many values. */
export async function decodeStage<T>(work: Work, decode: () => T): Promise<T> {
  try {
    return await work.run(decode);
  } catch (error) {
    throw error instanceof TooManyValuesError ? tooManyValues(error) : error;
  }
}

const tooManyValues = (error: Error): Error =>
  failure({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${error.message}` });
