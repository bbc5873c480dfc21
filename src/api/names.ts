// Validates names and other short strings. Each function returns error messages, worded as in Kubernetes.

const none: readonly string[] = [];

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const rfc1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const wildcard = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualified = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const path = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Kubernetes prints a comma after each example, and so `', ' + ' or '` between two. */
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

/** Kubernetes' messages say "bytes" for keys and values of labels, and "characters" for names. */
const inBytes = (errors: readonly string[]): readonly string[] =>
  errors.map((error) => (error.startsWith('must be no more than') ? error.replace('characters', 'bytes') : error));

/** An RFC 1123 label: names of Namespaces and ports. */
export const dnsLabelErrors = (value: string): readonly string[] =>
  label.test(value) && value.length <= 63
    ? none
    : formatErrors(value, 63, label, subdomain.test(value) ? 'must not contain dots' : labelMismatch);

/** RFC 1123 labels separated by dots: names of most objects. */
export const dnsSubdomainErrors = (value: string): readonly string[] =>
  formatErrors(value, 253, subdomain, subdomainMismatch);

/** An RFC 1035 label, which starts with a letter: names of Services before RelaxedServiceNameValidation. */
export const dns1035LabelErrors = (value: string): readonly string[] =>
  formatErrors(value, 63, rfc1035, rfc1035Mismatch);

/** `*.` followed by a subdomain. */
export const wildcardSubdomainErrors = (value: string): readonly string[] =>
  formatErrors(value, 253, wildcard, wildcardMismatch);

/** The value of a label. */
export const labelValueErrors = (value: string): readonly string[] =>
  inBytes(formatErrors(value, 63, labelValue, labelValueMismatch));

/** A name with an optional domain prefix: label keys, classes, application protocols. */
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

/** A segment of a URL path: names in RBAC. A prefix of a generated name may be `.`, since a suffix follows. */
export function pathSegmentErrors(value: string, isPrefix = false): readonly string[] {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

/** Errors of a domain-prefixed path such as `example.org/ingress`, with the part that is invalid. */
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

/** A prefix of a generated name may end in a hyphen, since a suffix follows. */
const withoutTrailingHyphen = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;

const nameRule =
  (errors: (name: string) => readonly string[]) =>
  (name: string, isPrefix: boolean): readonly string[] =>
    errors(isPrefix ? withoutTrailingHyphen(name) : name);

/** Names of most kinds are subdomains. */
export const subdomainName: NameRule = nameRule(dnsSubdomainErrors);
/** Names that are one RFC 1123 label. */
export const labelName: NameRule = nameRule(dnsLabelErrors);
/** Names that are one RFC 1035 label. */
export const rfc1035Name: NameRule = nameRule(dns1035LabelErrors);
/** Names that only have to be valid in a URL path. */
export const pathSegmentName: NameRule = pathSegmentErrors;

/** Returns the errors of a name, or of the prefix of a generated name if `isPrefix`. */
export type NameRule = (name: string, isPrefix: boolean) => readonly string[];

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxGeneratedLength = 63;

/** Generates a name from `prefix` and five random letters; `random` returns numbers in [0, 1). */
export function generateName(prefix: string, random: () => number): string {
  let name = prefix.slice(0, maxGeneratedLength - suffixLength);
  for (let index = 0; index < suffixLength; index++) {
    name += suffixLetters[Math.floor(random() * suffixLetters.length)] ?? '';
  }
  return name;
}
