import { badRequest } from '../errors.ts';
import { maxTerms, tooManyTerms } from './labels.ts';

/** One term: `path=value` or `path!=value`. */
export interface FieldRequirement {
  readonly path: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Parses the `fieldSelector` parameter: terms separated by commas, `\` escapes `,`, `=` and `\`. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  const terms = splitTerms(text);
  if (terms.length > maxTerms) throw tooManyTerms();
  return terms.map(parseTerm);
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms.filter((term) => term !== '');
}

function parseTerm(term: string): FieldRequirement {
  const operator = /!=|==|=/.exec(term);
  if (operator === null) {
    throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  }
  return {
    path: term.slice(0, operator.index),
    equal: operator[0] !== '!=',
    value: unescape(term.slice(operator.index + operator[0].length)),
  };
}

function unescape(text: string): string {
  if (!/[\\=,]/.test(text)) return text;
  let value = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '=')
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    if (character !== '\\') {
      value += character;
      continue;
    }
    const escaped = text[++at] ?? '';
    if (escaped === '' || !'\\,='.includes(escaped)) {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped}`);
    }
    value += escaped;
  }
  return value;
}
