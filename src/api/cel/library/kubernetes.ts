// Kubernetes' libraries for quantities, named formats and semantic versions.

import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  labelValueErrors,
  qualifiedNameErrors,
} from '../../names.ts';
import type { Quantity } from '../../quantity.ts';
import { addQuantities, parseQuantity, printQuantity, subtractQuantities, wholeQuantity } from '../../quantity.ts';
import { readQuantity } from '../../schema/scalars.ts';
import { Mismatch } from '../../schema/mismatch.ts';
import { formatCheck, isRequestUri } from '../../structural/formats.ts';
import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, CelList, LibraryValue, Optional } from '../values.ts';
import type { Value } from '../values.ts';
import { matchCost, traversal } from './standard.ts';

const read = ([length = 0]: readonly number[]): number => traversal(length);

type QuantityValue = LibraryValue<Quantity>;

const unit = 1_000_000_000n;

const quantityValue = (quantity: Quantity): QuantityValue =>
  new LibraryValue('quantity', String(quantity.nano), quantity);

function quantityOf(text: string): Quantity | undefined {
  try {
    return parseQuantity(readQuantity(text));
  } catch (error) {
    if (error instanceof Mismatch) return undefined;
    throw error;
  }
}

function quantity(text: string): QuantityValue {
  const parsed = quantityOf(text);
  if (parsed !== undefined) return quantityValue(parsed);
  throw new CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

const order = (left: bigint, right: bigint): bigint => (left < right ? -1n : left > right ? 1n : 0n);
const compareQuantities = ({ data: a }: QuantityValue, { data: b }: QuantityValue): bigint => order(a.nano, b.nano);
const isInteger = ({ data: { nano } }: QuantityValue): boolean =>
  nano % unit === 0n && BigInt.asIntN(64, nano / unit) === nano / unit;

function asInteger(value: QuantityValue): bigint {
  if (!isInteger(value)) throw new CelError(`cannot convert value to integer: ${printQuantity(value.data)}`);
  return value.data.nano / unit;
}

const quantities: readonly CelFunction[] = [
  define('quantity(string): quantity', quantity, read),
  define('isQuantity(string): bool', (text: string) => quantityOf(text) !== undefined, read),
  define('quantity.sign(): int', ({ data }: QuantityValue) => order(data.nano, 0n)),
  define('quantity.isInteger(): bool', isInteger),
  define('quantity.asInteger(): int', asInteger),
  define('quantity.asApproximateFloat(): double', ({ data }: QuantityValue) => Number(data.nano) / Number(unit)),
  define('quantity.isGreaterThan(quantity): bool', (a: QuantityValue, b: QuantityValue) => a.data.nano > b.data.nano),
  define('quantity.isLessThan(quantity): bool', (a: QuantityValue, b: QuantityValue) => a.data.nano < b.data.nano),
  define('quantity.compareTo(quantity): int', compareQuantities),
  define('quantity.add(quantity): quantity', (a: QuantityValue, b: QuantityValue) =>
    quantityValue(addQuantities(a.data, b.data)),
  ),
  define('quantity.add(int): quantity', (a: QuantityValue, b: bigint) =>
    quantityValue(addQuantities(a.data, wholeInt(b))),
  ),
  define('quantity.sub(quantity): quantity', (a: QuantityValue, b: QuantityValue) =>
    quantityValue(subtractQuantities(a.data, b.data)),
  ),
  define('quantity.sub(int): quantity', (a: QuantityValue, b: bigint) =>
    quantityValue(subtractQuantities(a.data, wholeInt(b))),
  ),
];

const wholeInt = (value: bigint): Quantity => ({ ...wholeQuantity(0), nano: value * unit });

type Format = LibraryValue<(text: string) => readonly string[]>;

const checked =
  (format: string, problem: string) =>
  (text: string): readonly string[] =>
    formatCheck(format)?.(text) === true ? [] : [problem];

const ending =
  (errors: (text: string) => readonly string[]) =>
  (text: string): readonly string[] =>
    errors(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const formats: Readonly<Record<string, (text: string) => readonly string[]>> = {
  dns1123Label: dnsLabelErrors,
  dns1123Subdomain: dnsSubdomainErrors,
  dns1035Label: dns1035LabelErrors,
  qualifiedName: qualifiedNameErrors,
  dns1123LabelPrefix: ending(dnsLabelErrors),
  dns1123SubdomainPrefix: ending(dnsSubdomainErrors),
  dns1035LabelPrefix: ending(dns1035LabelErrors),
  labelValue: labelValueErrors,
  uri: (text) => (isRequestUri(text) ? [] : [`parse ${JSON.stringify(text)}: invalid URI for request`]),
  uuid: checked('uuid', 'does not match the UUID format'),
  byte: checked('byte', 'invalid base64'),
  date: checked('date', 'invalid date'),
  datetime: checked('datetime', 'invalid datetime'),
};

const formatValues = new Map(
  Object.entries(formats).map(([name, check]) => [name, new LibraryValue('format', name, check)]),
);

const validate = ({ data }: Format, text: string): Value => {
  const errors = data(text);
  return new Optional(errors.length === 0 ? undefined : CelList.of(errors));
};

const namedFormats: readonly CelFunction[] = [
  define('::format.named(string): optional_type<format>', (name: string) => new Optional(formatValues.get(name))),
  define('format.validate(string): optional_type<list<string>>', validate, ([, length = 0]) =>
    matchCost([length, 128]),
  ),
  ...Array.from(formatValues, ([name, value]) => define(`::format.${name}(): format`, () => value)),
];

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
}
type Semver = LibraryValue<Version>;

const form = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const maxVersionLength = 256;

/** `v1.02` as `1.2.0`. */
function normalized(text: string): string {
  const plain = text.startsWith('v') ? text.slice(1) : text;
  const end = plain.search(/[-+]/);
  const [core, rest] = end < 0 ? [plain, ''] : [plain.slice(0, end), plain.slice(end)];
  const parts = core.split('.').map((part) => (/^\d+$/.test(part) ? String(BigInt(part)) : part));
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + rest;
}

function semverOf(text: string, normalize = false): Version | undefined {
  if (text.length > maxVersionLength) return undefined;
  const match = form.exec(normalize ? normalized(text) : text);
  if (match === null) return undefined;
  const [, major = '', minor = '', patch = '', pre] = match;
  const parts = pre?.split('.') ?? [];
  if (parts.some((part) => part === '' || /^0\d+$/.test(part))) return undefined;
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], pre: parts };
}

function semver(text: string, normalize = false): Semver {
  const version = semverOf(text, normalize);
  if (version === undefined) throw new CelError(`invalid semver: ${JSON.stringify(text.slice(0, maxVersionLength))}`);
  return new LibraryValue('semver', `${version.numbers.join('.')}-${version.pre.join('.')}`, version);
}

function comparePre(left: readonly string[], right: readonly string[]): bigint {
  if (left.length === 0 || right.length === 0)
    return order(BigInt(right.length), BigInt(left.length)) === 0n ? 0n : left.length === 0 ? 1n : -1n;
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1n;
    if (part === other) continue;
    const [isNumber, isOther] = [/^\d+$/.test(part), /^\d+$/.test(other)];
    if (isNumber && isOther) return order(BigInt(part), BigInt(other));
    if (isNumber !== isOther) return isNumber ? -1n : 1n;
    return part < other ? -1n : 1n;
  }
  return left.length < right.length ? -1n : 0n;
}

function compareVersions({ data: a }: Semver, { data: b }: Semver): bigint {
  for (const [index, number] of a.numbers.entries()) {
    const difference = order(number, b.numbers[index] ?? 0n);
    if (difference !== 0n) return difference;
  }
  return comparePre(a.pre, b.pre);
}

const versions: readonly CelFunction[] = [
  define('semver(string): semver', (text: string) => semver(text), read),
  define('semver(string, bool): semver', semver, read),
  define('isSemver(string): bool', (text: string) => semverOf(text) !== undefined, read),
  define(
    'isSemver(string, bool): bool',
    (text: string, normalize: boolean) => semverOf(text, normalize) !== undefined,
    read,
  ),
  define('semver.major(): int', ({ data }: Semver) => data.numbers[0]),
  define('semver.minor(): int', ({ data }: Semver) => data.numbers[1]),
  define('semver.patch(): int', ({ data }: Semver) => data.numbers[2]),
  define('semver.isGreaterThan(semver): bool', (a: Semver, b: Semver) => compareVersions(a, b) > 0n),
  define('semver.isLessThan(semver): bool', (a: Semver, b: Semver) => compareVersions(a, b) < 0n),
  define('semver.compareTo(semver): int', compareVersions),
];

export const kubernetesFunctions: readonly CelFunction[] = [...quantities, ...namedFormats, ...versions];
