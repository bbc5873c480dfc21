import { failure } from '../../api/errors.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { parseJson, TooManyValuesError } from '../../api/schema/json.ts';
import { parseYaml } from '../../api/schema/yaml.ts';
import type { Work } from '../limits/slices.ts';

/**
 * The value of a body, and its duplicate keys. The work is linear in the body. Throws a 413 for a body with too many
 * values, else a `JsonError` or a `YamlError`.
 */
export const decodeBody = async (bytes: Buffer, type: 'json' | 'yaml', work: Work): Promise<ParsedJson> =>
  work.run(() => parse(bytes, type));

function parse(bytes: Buffer, type: 'json' | 'yaml'): ParsedJson {
  const text = bytes.toString(); // invalid UTF-8 becomes U+FFFD, as in Go's decoder
  try {
    return type === 'json' ? parseJson(text) : parseYaml(text);
  } catch (error) {
    throw error instanceof TooManyValuesError ? tooManyValues(error) : error;
  }
}

/** The 413 for a body that is short enough and has too many values. */
const tooManyValues = (error: Error): Error =>
  failure({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${error.message}` });
