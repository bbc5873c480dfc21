// The formats of names and other short strings. Each function returns what is wrong, in Kubernetes' words.

const none: readonly string[] = [];

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const rfc1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const wildcard = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualified = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const path = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Each example is followed by a comma, so that ` or ` stands behind two spaces: Kubernetes prints it like that. */
const mismatch = (rule: string, pattern: RegExp, ...examples: readonly string[]): string => {
  const shown = `regex used for validation is '${pattern.source.slice(1, -1)}'`; // without ^ and $
  if (examples.length === 0) return `${rule} (${shown})`;
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}${shown})`;
};

const labelMismatch = mismatch(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label,
  'my-name',
  '123-abc',
);
const subdomainMismatch = mismatch(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomain,
  'example.com',
);
const rfc1035Mismatch = mismatch(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  rfc1035,
  'my-name',
  'abc-123',
);
const wildcardMismatch = mismatch(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  wildcard,
  '*.example.com',
);
const qualifiedMismatch = mismatch(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualified,
  'MyName',
  'my.name',
  '123-abc',
);
const labelValueMismatch = mismatch(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelValue,
  'MyValue',
  'my_value',
  '12345',
);
const pathMismatch = mismatch('Invalid path', path);

/** Lengths are in bytes, as in Go. */
const isLonger = (value: string, max: number): boolean =>
  value.length > max || (value.length * 3 > max && Buffer.byteLength(value) > max);

const tooLong = (max: number): string => `must be no more than ${max} characters`;

function formatErrors(value: string, max: number, pattern: RegExp, message: string): readonly string[] {
  const isBad = !pattern.test(value);
  if (!isLonger(value, max)) return isBad ? [message] : none;
  return isBad ? [tooLong(max), message] : [tooLong(max)];
}

/** Of the keys and values of labels Kubernetes says what it counts; of names it does not. */
const inBytes = (errors: readonly string[]): readonly string[] =>
  errors.map((error) => (error.startsWith('must be no more than') ? error.replace('characters', 'bytes') : error));

/** An RFC 1123 label: what a Namespace or a port is called. */
export const dnsLabelErrors = (value: string): readonly string[] =>
  label.test(value) && value.length <= 63
    ? none
    : formatErrors(value, 63, label, subdomain.test(value) ? 'must not contain dots' : labelMismatch);

/** RFC 1123 labels with dots between them: what most objects are called. */
export const dnsSubdomainErrors = (value: string): readonly string[] =>
  formatErrors(value, 253, subdomain, subdomainMismatch);

/** An RFC 1035 label, which starts with a letter: what a Service was called before its name was relaxed. */
export const dns1035LabelErrors = (value: string): readonly string[] =>
  formatErrors(value, 63, rfc1035, rfc1035Mismatch);

/** `*.` and a subdomain. */
export const wildcardSubdomainErrors = (value: string): readonly string[] =>
  formatErrors(value, 253, wildcard, wildcardMismatch);

/** The value of a label. */
export const labelValueErrors = (value: string): readonly string[] =>
  inBytes(formatErrors(value, 63, labelValue, labelValueMismatch));

/** A name with an optional domain and a slash before it: label keys, classes, application protocols. */
export function qualifiedNameErrors(value: string): readonly string[] {
  const slash = value.indexOf('/');
  if (slash === -1) return namePartErrors(value);
  if (value.includes('/', slash + 1)) {
    return [
      `a valid label key ${qualifiedMismatch} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const prefix = value.slice(0, slash);
  const prefixErrors = prefix === '' ? ['must be non-empty'] : inBytes(dnsSubdomainErrors(prefix));
  const nameErrors = namePartErrors(value.slice(slash + 1));
  if (prefixErrors.length === 0) return nameErrors;
  return [...prefixErrors.map((error) => `prefix part ${error}`), ...nameErrors];
}

function namePartErrors(name: string): readonly string[] {
  if (name === '') return ['name part must be non-empty', `name part ${qualifiedMismatch}`];
  const errors = inBytes(formatErrors(name, 63, qualified, qualifiedMismatch));
  return errors.length === 0 ? none : errors.map((error) => `name part ${error}`);
}

/** The name of a container port, as `targetPort` and Ingress backends use it. */
export function portNameErrors(value: string): readonly string[] {
  const errors: string[] = [];
  if (isLonger(value, 15)) errors.push(tooLong(15));
  if (!/^[-a-z0-9]+$/.test(value)) {
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)');
  if (value.includes('--')) errors.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

const portRange: readonly string[] = ['must be between 1 and 65535, inclusive'];

/** The number of a port. */
export const portNumberErrors = (value: number): readonly string[] => (value >= 1 && value <= 65535 ? none : portRange);

/** What can stand between two slashes of a URL: RBAC names, kinds. A prefix may be `.`, since more follows. */
export function pathSegmentErrors(value: string, isPrefix = false): readonly string[] {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

/** What is wrong with a path behind a domain, such as `example.org/ingress`, and which part of it is. */
export function domainPrefixedPathErrors(
  value: string,
): readonly { readonly part: string; readonly message: string }[] {
  const slash = value.indexOf('/');
  if (slash <= 0 || slash === value.length - 1) {
    return [{ part: value, message: 'must be a domain-prefixed path (such as "acme.io/foo")' }];
  }
  const host = value.slice(0, slash);
  const rest = value.slice(slash + 1);
  return [
    ...dnsSubdomainErrors(host).map((message) => ({ part: host, message })),
    ...(path.test(rest) ? [] : [{ part: rest, message: pathMismatch }]),
  ];
}

/** A prefix may end in a hyphen, since more follows. */
const withoutTrailingHyphen = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;

const nameRule =
  (errors: (name: string) => readonly string[]) =>
  (name: string, isPrefix: boolean): readonly string[] =>
    errors(isPrefix ? withoutTrailingHyphen(name) : name);

/** The rule of most kinds for their names, and for the prefix of a generated one. */
export const subdomainName: NameRule = nameRule(dnsSubdomainErrors);
/** The rule for names that are one label, which may start with a digit. */
export const labelName: NameRule = nameRule(dnsLabelErrors);
/** The rule for names that are one label, which starts with a letter. */
export const rfc1035Name: NameRule = nameRule(dns1035LabelErrors);
/** The rule for names that only need to fit into a URL. */
export const pathSegmentName: NameRule = pathSegmentErrors;

/** What is wrong with a name, or with a prefix of names when `isPrefix`. */
export type NameRule = (name: string, isPrefix: boolean) => readonly string[];

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxGeneratedLength = 63;

/** A name from `prefix` and five random letters; `random` gives numbers in [0, 1). */
export function generateName(prefix: string, random: () => number): string {
  let name = prefix.slice(0, maxGeneratedLength - suffixLength);
  for (let index = 0; index < suffixLength; index++) {
    name += suffixLetters[Math.floor(random() * suffixLetters.length)] ?? '';
  }
  return name;
}
