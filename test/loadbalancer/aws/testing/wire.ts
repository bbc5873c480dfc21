// The wire formats of ELBv2 and EC2: form parameters in, XML out.

/** Decoded parameters, such as those of `Tags.member.1.Key=a`, or `Tag.1.Key=a` for EC2. */
export interface Input {
  readonly [name: string]: InputValue | undefined;
}
type InputValue = string | Input | readonly InputValue[];

/** A value to encode as XML. */
export type Output = string | number | boolean | undefined | readonly Output[] | { readonly [name: string]: Output };

/** An AWS error. */
export class ElbError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Parses a form. */
export function readForm(text: string): Input {
  const root: Record<string, unknown> = {};
  for (const [path, value] of new URLSearchParams(text)) {
    const words = path.split('.');
    const last = words.pop() ?? '';
    let at: Record<string, unknown> = root;
    for (const word of words) at = (at[word] ??= {}) as Record<string, unknown>; // A cast: made by the line itself.
    at[last] = value;
  }
  return collapse(root) as Input; // A cast: the root is no list.
}

/** A level with only numbers, or with `member`, is a list. */
function collapse(value: unknown): InputValue {
  if (typeof value !== 'object' || value === null) return String(value);
  if ('member' in value) return collapse(value.member);
  if (Object.keys(value).every((name) => /^\d+$/.test(name))) return Object.values(value).map(collapse);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, collapse(each)]));
}

/** A string parameter; '' if it is missing. */
export const text = (input: Input, name: string): string => {
  const value = input[name];
  return typeof value === 'string' ? value : '';
};

/** A parameter with a list of strings. */
export const texts = (input: Input, name: string): readonly string[] => {
  const value = input[name];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
};

/** A parameter with a list of structures. */
export const structures = (input: Input, name: string): readonly Input[] => {
  const value = input[name];
  return Array.isArray(value) ? value.filter((each): each is Input => typeof each === 'object') : [];
};

/** Pairs such as tags and attributes. */
export const pairsIn = (input: Input, name: string): ReadonlyMap<string, string> =>
  new Map(structures(input, name).map((pair) => [text(pair, 'Key'), text(pair, 'Value')]));

/** Pairs as output. */
export const asPairs = (pairs: ReadonlyMap<string, string>): Output =>
  Array.from(pairs, ([Key, Value]) => ({ Key, Value }));

const requestId = '00000000-0000-4000-8000-000000000000';
const space = 'http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/';

/** The response to a call. */
export const answerXml = (action: string, result: Output): string =>
  `<${action}Response xmlns="${space}"><${action}Result>${xml(result)}</${action}Result>` +
  `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata></${action}Response>`;

/** An error response. */
export const errorXml = ({ code, message }: Pick<ElbError, 'code' | 'message'>): string =>
  `<ErrorResponse xmlns="${space}"><Error><Type>Sender</Type><Code>${code}</Code><Message>${escape(message)}</Message></Error>` +
  `<RequestId>${requestId}</RequestId></ErrorResponse>`;

const ec2Space = 'http://ec2.amazonaws.com/doc/2016-11-15/';

/** A response of EC2. */
export const ec2AnswerXml = (action: string, result: Output): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="${ec2Space}">` +
  `<requestId>${requestId}</requestId>${xml(result, 'item')}</${action}Response>`;

/** An error response of EC2. */
export const ec2ErrorXml = ({ code, message }: Pick<ElbError, 'code' | 'message'>): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>${code}</Code><Message>${escape(message)}</Message>` +
  `</Error></Errors><RequestID>${requestId}</RequestID></Response>`;

function xml(value: Output, item = 'member'): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.map((each: Output) => `<${item}>${xml(each, item)}</${item}>`).join('');
  if (typeof value !== 'object') return escape(String(value));
  return Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `<${name}>${xml(each as Output, item)}</${name}>`)
    .join('');
}

const escape = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
