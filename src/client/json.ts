import { LimitExceededError } from './errors.ts';

/** Texts of this length are looked at before they are parsed; nothing that fits in shorter ones does harm. */
const longText = 256 << 10;

/** The deepest nesting of JSON that is read, as deep as API servers read it. */
const deepest = 10_000;

/** As JSON.parse, but for a text that is nested so deeply that its values would take a hundred times its bytes. */
export function parseJson(text: string): unknown {
  if (text.length > longText && isDeeperThan(text, deepest)) {
    throw new LimitExceededError(`the server sends JSON that is nested more than ${deepest} levels deep`);
  }
  return JSON.parse(text);
}

function isDeeperThan(text: string, most: number): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === openBrace || code === openBracket) {
      depth++;
      if (depth > most) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

/**
 * The text of an object without its `metadata.managedFields`, as far as it has the form that servers write. They are half
 * of what a Pod says, and nobody but the server needs them: passing over them costs a tenth of reading them. Only for kinds
 * that have no other list of that name: a text in quotes cannot be mistaken for one, since its own quotes are escaped.
 */
export function stripManagedFields(json: string): string {
  const at = json.indexOf(begin);
  if (at < 0) return json;
  const end = endOfList(json, at + begin.length - 1);
  if (end < 0) return json;
  if (json.charCodeAt(at - 1) === comma) return json.slice(0, at - 1) + json.slice(end);
  return json.slice(0, at) + json.slice(json.charCodeAt(end) === comma ? end + 1 : end);
}

/** Where the list that begins at `at` is over; -1 if it never is. */
function endOfList(json: string, at: number): number {
  let depth = 0;
  for (let index = at; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === quote) {
      index = endOfText(json, index);
      if (index < 0) return -1;
    } else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) {
      depth--;
      if (depth === 0) return index + 1;
    }
  }
  return -1;
}

/** Where the text that begins at `at` has its closing quote; -1 if it has none. */
function endOfText(json: string, at: number): number {
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
