import { LimitExceededError } from './errors.ts';

/** Shorter texts are parsed without a check: the nesting that fits in them is harmless. */
const longTextLength = 256 << 10;

/** The limit of Kubernetes API servers. */
const maxDepth = 10_000;

/** JSON.parse that rejects very deep nesting: the parsed value would take a hundred times the memory of the text. */
export function parseJson(text: string): unknown {
  if (text.length > longTextLength && isDeeperThan(text, maxDepth)) {
    throw new LimitExceededError(`the server sends JSON that is nested more than ${maxDepth} levels deep`);
  }
  return JSON.parse(text);
}

function isDeeperThan(text: string, most: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === backslash) at++;
      else if (code === quote) isInString = false;
    } else if (code === quote) isInString = true;
    else if (code === openBrace || code === openBracket) {
      depth++;
      if (depth > most) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

/**
 * Removes `metadata.managedFields` from the JSON text of an object. They are half of a Pod, only the server needs them, and
 * skipping them costs a tenth of parsing them. Only for kinds without another list of that name. A string value cannot
 * match, because its quotes are escaped.
 */
export function stripManagedFields(json: string): string {
  const at = json.indexOf(begin);
  if (at < 0) return json;
  const end = endOfList(json, at + begin.length - 1);
  if (end < 0) return json;
  if (json.charCodeAt(at - 1) === comma) return json.slice(0, at - 1) + json.slice(end);
  return json.slice(0, at) + json.slice(json.charCodeAt(end) === comma ? end + 1 : end);
}

/** The index after the list that starts at `at`; -1 if it does not end. */
function endOfList(json: string, at: number): number {
  let depth = 0;
  for (let index = at; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === quote) {
      index = endOfString(json, index);
      if (index < 0) return -1;
    } else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) {
      depth--;
      if (depth === 0) return index + 1;
    }
  }
  return -1;
}

/** The index of the closing quote of the string that starts at `at`; -1 if there is none. */
function endOfString(json: string, at: number): number {
  for (let index = at + 1; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === quote) return index;
    if (code === backslash) index++;
  }
  return -1;
}

const begin = '"managedFields":[';
const [quote, backslash, comma] = [34, 92, 44];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
