// The formats of strings that Kubernetes checks in custom resources. Unknown formats are ignored.

import { parseAddress, parseCidr } from '../addresses.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../names.ts';

const anyUuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uuid3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uuid4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const uuid5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

const clock = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/;

function isDateTime(text: string): boolean {
  if (text.length < 4 || text.length > 100) return false;
  const [date = '', time = '', ...more] = text.toLowerCase().split('t');
  const match = clock.exec(time);
  if (more.length > 0 || !isDate(date) || match === null) return false;
  const [hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return hour < 24 && minute < 60 && second < 60;
}

/** The longest text that is examined: no valid value is longer. */
const maxLength = 4096;

/** As Go's net/url.ParseRequestURI: an absolute URI or an absolute path. */
export const isRequestUri = (text: string): boolean =>
  text.length <= maxLength && !/[\s\p{Cc}]/u.test(text) && (text.startsWith('/') || URL.canParse(text));

const labelText = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]*[a-zA-Z0-9\p{S}\p{L}])?$/u;
const topLevel = /^[a-zA-Z\p{L}]{2,63}$/u;

function isHostname(text: string): boolean {
  if (text === '' || Buffer.byteLength(text) > 255) return false;
  const labels = text.split('.');
  if (!labels.every((label) => labelText.test(label) && Buffer.byteLength(label) <= 63)) return false;
  return labels.length === 1 || topLevel.test(labels.at(-1) ?? '');
}

const isIpv4 = (text: string): boolean => {
  const address = parseAddress(text);
  return address?.family === 'IPv4' && !address.isMapped && !address.hasLeadingZeros;
};
const isIpv6 = (text: string): boolean => text.includes(':') && parseAddress(text) !== undefined;
const isCidr = (text: string): boolean => parseCidr(text)?.hasLeadingZeros === false;

const macForms: readonly RegExp[] = [
  /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i,
  /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){7}$/i,
  /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){19}$/i,
  /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}$/i,
  /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){3}$/i,
  /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){9}$/i,
];

const isEmail = (text: string): boolean => {
  if (text.length > maxLength) return false;
  const address = /<([^<>]*)>$/.exec(text)?.[1] ?? text;
  const at = address.lastIndexOf('@');
  return at > 0 && at < address.length - 1 && !/[\s,;]/.test(address) && !address.slice(0, at).includes('@');
};

const digitsOf = (text: string): string => (text.length > maxLength ? '' : text.replaceAll(/[\s-]/g, ''));

function isIsbn10(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = Array.from(digits).reduce(
    (total, digit, at) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - at),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{13}$/.test(digits)) return false;
  return Array.from(digits).reduce((total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

const cardForm =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

function isCreditCard(text: string): boolean {
  if (text.length > maxLength) return false;
  const digits = text.replaceAll(/\D/g, '');
  if (!cardForm.test(digits)) return false;
  const sum = Array.from(digits)
    .reverse()
    .reduce(
      (total, digit, at) =>
        total + (at % 2 === 0 ? Number(digit) : ([0, 2, 4, 6, 8, 1, 3, 5, 7, 9][Number(digit)] ?? 0)),
      0,
    );
  return sum % 10 === 0;
}

const isByte = (text: string): boolean => {
  const plain = text.replaceAll(/[\r\n]/g, '');
  return plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(plain);
};

const rgb = /^rgb\((?:\s*(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])\s*,){2}\s*(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])\s*\)$/;
const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const longUnits = ['nano', 'micro', 'milli', 'sec', 'min', 'hour', 'day', 'week'];
const shortUnits = new Set(['ns', 'us', 'µs', 'ms', 's', 'm', 'h', 'hr', 'd', 'w', 'wk']);

/** Go's syntax, or numbers with the units of Scala, such as `3 days`. */
function isDuration(text: string): boolean {
  if (text.length > maxLength) return false;
  if (goDuration.test(text)) return true;
  const words = text.toLowerCase().match(/\d+|[a-zµ]+/g) ?? [];
  return words.some((word, index) => {
    const isUnit = /^\d/.test(words[index - 1] ?? '') && !/^\d/.test(word);
    return isUnit && (shortUnits.has(word) || longUnits.some((long) => word.startsWith(long)));
  });
}

/** Format without dashes → whether a text has it. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['cidr', isCidr],
  ['mac', (text) => macForms.some((form) => form.test(text))],
  ['uuid', (text) => anyUuid.test(text)],
  ['uuid3', (text) => uuid3.test(text)],
  ['uuid4', (text) => uuid4.test(text)],
  ['uuid5', (text) => uuid5.test(text)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ['rgbcolor', (text) => text.length < 100 && rgb.test(text)],
  ['byte', isByte],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => dnsLabelErrors(text).length === 0],
  ['k8slongname', (text) => dnsSubdomainErrors(text).length === 0],
]);

/** The check of a format; undefined for a format that Kubernetes ignores. */
export const formatCheck = (format: string): ((text: string) => boolean) | undefined =>
  formats.get(format.replaceAll('-', ''));
