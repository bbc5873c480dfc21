import { failure } from '../../api/errors.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { parseJson, TooManyValuesError } from '../../api/schema/json.ts';
import { parseYaml } from '../../api/schema/yaml.ts';
import { yieldToEventLoop } from '../limits/event-loop.ts';

/** What is smaller is decoded within a few milliseconds. */
const largeBytes = 64 * 1024;

/**
 * The value of a body, and its duplicate keys. The work is linear in the body, and a large one is parsed in a turn of the
 * event loop of its own, with another one for what the caller does next. Throws a 413 for a body with too many values,
 * else a `JsonError` or a `YamlError`.
 */
export async function decodeBody(bytes: Buffer, type: 'json' | 'yaml'): Promise<ParsedJson> {
  if (bytes.length < largeBytes) return parse(bytes, type);
  await yieldToEventLoop();
  const parsed = parse(bytes, type);
  await yieldToEventLoop();
  return parsed;
}

function parse(bytes: Buffer, type: 'json' | 'yaml'): ParsedJson {
  const text = bytes.toString(); // invalid UTF-8 becomes U+FFFD, as in Go's decoder
  try {
    return type === 'json' ? parseJson(text) : parseYaml(text);
  } catch (error) {
    throw error instanceof TooManyValuesError ? tooManyValues(error) : error;
  }
}

/** The 413 for a body that is short enough and has too many values. */
export const tooManyValues = (error: Error): Error =>
  failure({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${error.message}` });
