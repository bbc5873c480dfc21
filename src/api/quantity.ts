// Parses, adds and prints quantities such as `500m`, `1.5Gi` or `3e6` as Kubernetes does.

/** The notation of a quantity: suffixes for powers of 1024, for powers of 1000, or an exponent. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/** A quantity in billionths, the resolution of Kubernetes. */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const unit = 1_000_000_000n;

/** Kubernetes reduces larger quantities to this maximum. */
const maximum = (2n ** 63n - 1n) * unit;

const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** Suffix → power of ten. */
const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);

/** A number with more integer digits exceeds the maximum. */
const maxDigits = 40;

export const zero: Quantity = { nano: 0n, format: 'DecimalSI' };

/** A quantity from an integer. */
export const wholeQuantity = (count: number): Quantity => ({ nano: BigInt(count) * unit, format: 'DecimalSI' });

/** Parses a quantity that the decoder has accepted. The cost does not depend on the size of the exponent. */
export function parseQuantity(text: string): Quantity {
  const [, sign = '', whole = '', fraction = '', suffix = ''] = /^([+-]?)(\d*)\.?(\d*)(.*)$/s.exec(text) ?? [];
  const binary = binarySuffixes.indexOf(suffix);
  const isBinary = binary > 0;
  const power = isBinary ? 0 : (decimalSuffixes.get(suffix) ?? Number(suffix.slice(1)));
  const format = isBinary ? 'BinarySI' : decimalSuffixes.has(suffix) ? 'DecimalSI' : 'DecimalExponent';
  const digits = scaled(whole, fraction, power + 9);
  const exact = isBinary ? digits * 1024n ** BigInt(binary) : digits;
  const nano = exact > maximum ? maximum : exact;
  return { nano: sign === '-' ? -nano : nano, format };
}

/** The number times 10^`power`, rounded up; `maximum` if it is larger. */
function scaled(whole: string, fraction: string, power: number): bigint {
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // The number of digits before the decimal point after the shift.
  const before = digits.length - fraction.length + power;
  if (before > maxDigits) return maximum;
  if (before <= 0) return 1n;
  if (before >= digits.length) return BigInt(digits) * 10n ** BigInt(before - digits.length);
  const rest = digits.slice(before);
  return BigInt(digits.slice(0, before)) + (/[1-9]/.test(rest) ? 1n : 0n);
}

/** The sum, in the format of the first quantity that is not zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nano: a.nano + b.nano,
  format: a.nano === 0n ? b.format : a.format,
});

export const subtractQuantities = (a: Quantity, b: Quantity): Quantity => addQuantities(a, { ...b, nano: -b.nano });

export const largerQuantity = (a: Quantity, b: Quantity): Quantity => (b.nano > a.nano ? b : a);

/** Whether a quantity is an integer. */
export const isWhole = ({ nano }: Quantity): boolean => nano % unit === 0n;

/** The canonical text: no fraction, and the largest suffix without loss of precision. */
export function printQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  const isSmall = nano > -1024n * unit && nano < 1024n * unit;
  if (format === 'BinarySI' && !isSmall && nano % unit === 0n) {
    let value = nano / unit;
    let power = 0;
    while (power < binarySuffixes.length - 1 && value % 1024n === 0n) {
      value /= 1024n;
      power++;
    }
    return `${value}${binarySuffixes[power] ?? ''}`;
  }
  let value = nano;
  let power = -9;
  while (power < 18 && value % 1000n === 0n) {
    value /= 1000n;
    power += 3;
  }
  if (format === 'DecimalExponent') return power === 0 ? `${value}` : `${value}e${power}`;
  const [suffix = ''] = [...decimalSuffixes].find(([, each]) => each === power) ?? [];
  return `${value}${suffix}`;
}
