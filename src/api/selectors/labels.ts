import { badRequest } from '../errors.ts';

/** One condition of a label selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

/** All requirements must hold; none means everything matches. */
export type LabelSelector = readonly Requirement[];

type Labels = Readonly<Record<string, string>> | undefined;

/** Whether `labels` meet every requirement. `notin` also matches when the label is absent, as in Kubernetes. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  return selector.every((requirement) => meets(requirement, labels?.[requirement.key]));
}

function meets({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return isInteger(value) && Number(value) > Number(values[0]);
    case 'lt':
      return isInteger(value) && Number(value) < Number(values[0]);
  }
}

const isInteger = (text: string | undefined): boolean => text !== undefined && /^[+-]?\d+$/.test(text);

const keyPattern =
  /^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const valuePattern = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const token = /\s*(?:(!=|==|=|!|,|\(|\)|>|<)|([^\s=!,()<>]+))/y;

/**
 * Reads the grammar of the `labelSelector` parameter:
 *
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = key ( "=" | "==" | "!=" ) value | key ( "in" | "notin" ) "(" value { "," value } ")"
 *                 | key ( ">" | "<" ) integer | key | "!" key
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = tokenize(text);
  const requirements: Requirement[] = [];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';

  while (at < tokens.length) {
    requirements.push(requirement());
    if (at < tokens.length && next() !== ',')
      throw unparsable(`found '${tokens[at - 1]}', expected: ',' or 'end of string'`);
    else if (at === tokens.length && tokens[at - 1] === ',')
      throw unparsable("found '', expected: identifier after ','");
  }
  return requirements;

  function requirement(): Requirement {
    let key = next();
    if (key === '!') {
      key = checkedKey(next());
      return { key, operator: 'absent', values: [] };
    }
    key = checkedKey(key);
    const operator = tokens[at] ?? ',';
    if (operator === ',') return { key, operator: 'exists', values: [] };
    at++;
    switch (operator) {
      case '=':
      case '==':
        return { key, operator: 'in', values: [checkedValue(key, exactValue())] };
      case '!=':
        return { key, operator: 'notin', values: [checkedValue(key, exactValue())] };
      case '>':
      case '<': {
        const value = exactValue();
        if (!isInteger(value))
          throw unparsable(
            `values[0][${key}]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`,
          );
        return { key, operator: operator === '>' ? 'gt' : 'lt', values: [value] };
      }
      case 'in':
      case 'notin':
        return { key, operator, values: valueList(key) };
      default:
        throw unparsable(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  /** A value may be empty: `key=`. */
  function exactValue(): string {
    const value = tokens[at] ?? ',';
    if (value === ',') return '';
    at++;
    return value;
  }

  function valueList(key: string): string[] {
    if (next() !== '(') throw unparsable(`found '${tokens[at - 1] ?? ''}', expected: '('`);
    const values: string[] = [];
    for (;;) {
      const value = next();
      if (value === ')' || value === ',') values.push('');
      else values.push(checkedValue(key, value));
      const separator = value === ')' || value === ',' ? value : next();
      if (separator === ')') return values;
      if (separator !== ',') throw unparsable(`found '${separator}', expected: ',' or ')'`);
    }
  }
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const start = token.lastIndex;
    const found = token.exec(text);
    if (found === null) {
      if (text.slice(start).trim() === '') break;
      throw unparsable(`unexpected text at '${text.slice(start, start + 20)}'`);
    }
    tokens.push(found[1] ?? found[2] ?? '');
  }
  return tokens;
}

function checkedKey(key: string): string {
  const name = key.slice(key.indexOf('/') + 1);
  if (!keyPattern.test(key) || name.length > 63 || key.length - name.length > 254) {
    throw unparsable(`<nil>: Invalid value: ${JSON.stringify(key)}: not a valid label key`);
  }
  return key;
}

function checkedValue(key: string, value: string): string {
  if (!valuePattern.test(value) || value.length > 63) {
    throw unparsable(`values[0][${key}]: Invalid value: ${JSON.stringify(value)}: not a valid label value`);
  }
  return value;
}

const unparsable = (why: string): Error => badRequest(`unable to parse requirement: ${why}`);
