import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import type { Quantity } from '../../../quantity.ts';
import { parseQuantity, printQuantity, wholeQuantity } from '../../../quantity.ts';
import { containerResourceNameErrors, resourceNameErrors } from '../resource-names.ts';
import { hugePagesPrefix, isNativeName } from '../resourcequota/names.ts';
import type { LimitRangeItem } from './schema.ts';

const standardTypes = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);

/** Validation errors of the limits of a LimitRange. */
export function limitErrors(limits: readonly LimitRangeItem[]): readonly FieldError[] {
  const types = new Set<string>();
  return limits.flatMap((limit, index) => {
    const at = `spec.limits[${index}]`;
    const isRepeated = types.has(limit.type);
    types.add(limit.type);
    return [
      ...invalidAll(`${at}.type`, limit.type, typeErrors(limit.type)),
      ...(isRepeated ? [duplicate(`${at}.type`, limit.type)] : []),
      ...nameErrors(limit, at),
      ...amountErrors(limit, at),
    ];
  });
}

function typeErrors(type: string): readonly string[] {
  const malformed = qualifiedNameErrors(type);
  if (malformed.length > 0 || type.includes('/') || standardTypes.has(type)) return malformed;
  return ['must be a standard limit type or fully qualified'];
}

const defaults = ['default', 'defaultRequest'] as const;

function nameErrors(limit: LimitRangeItem, at: string): readonly FieldError[] {
  const { type, min = {}, max = {} } = limit;
  const check = type === 'Pod' || type === 'Container' ? containerResourceNameErrors : resourceNameErrors;
  const errorsOf = (field: 'max' | 'min' | 'maxLimitRequestRatio' | (typeof defaults)[number]): FieldError[] =>
    Object.keys(limit[field] ?? {}).flatMap((name) => invalidAll(`${at}.${field}[${name}]`, name, check(name)));
  const ofPod = defaults
    .filter((field) => Object.keys(limit[field] ?? {}).length > 0)
    .map((field) => forbiddenField(`${at}.${field}`, "may not be specified when `type` is 'Pod'"));
  const hasStorage = Object.hasOwn(min, 'storage') || Object.hasOwn(max, 'storage');
  const neither = 'either minimum or maximum storage value is required, but neither was provided';
  return [
    ...errorsOf('max'),
    ...errorsOf('min'),
    ...(type === 'Pod' ? ofPod : defaults.flatMap(errorsOf)),
    ...(type === 'PersistentVolumeClaim' && !hasStorage ? [required(`${at}.limits`, neither)] : []),
    ...errorsOf('maxLimitRequestRatio'),
  ];
}

function amountErrors(limit: LimitRangeItem, at: string): readonly FieldError[] {
  const isPod = limit.type === 'Pod';
  const [standard, requests] = isPod ? [{}, {}] : [limit.default ?? {}, limit.defaultRequest ?? {}];
  const { min = {}, max = {}, maxLimitRequestRatio = {} } = limit;
  const names = new Set([max, min, standard, requests, maxLimitRequestRatio].flatMap((each) => Object.keys(each)));
  const amount = (of: Readonly<Record<string, string | number>>, name: string): Quantity | undefined =>
    Object.hasOwn(of, name) ? parseQuantity(String(of[name])) : undefined;
  return [...names].sort().flatMap((name) =>
    orderErrors(at, name, {
      min: amount(min, name),
      max: amount(max, name),
      limit: amount(standard, name),
      request: amount(requests, name),
      ratio: amount(maxLimitRequestRatio, name),
    }),
  );
}

type Bounds = Readonly<Record<'min' | 'max' | 'limit' | 'request' | 'ratio', Quantity | undefined>>;

/** Errors of bounds of one resource that contradict each other. */
function orderErrors(at: string, name: string, { min, max, limit, request, ratio }: Bounds): readonly FieldError[] {
  const errors: FieldError[] = [];
  const check = (
    [low, lowName]: readonly [Quantity | undefined, string],
    [high, highName]: readonly [Quantity | undefined, string],
    [field, shown]: readonly [string, Quantity | undefined],
  ): void => {
    if (low === undefined || high === undefined || shown === undefined || low.nano <= high.nano) return;
    const detail = `${lowName} value ${printQuantity(low)} is greater than ${highName} value ${printQuantity(high)}`;
    errors.push(invalidValue(`${at}.${field}[${name}]`, printQuantity(shown), detail));
  };
  check([min, 'min'], [max, 'max'], ['min', min]);
  check([min, 'min'], [request, 'default request'], ['defaultRequest', request]);
  check([request, 'default request'], [max, 'max'], ['defaultRequest', request]);
  check([request, 'default request'], [limit, 'default limit'], ['defaultRequest', request]);
  check([min, 'min'], [limit, 'default'], ['default', min]);
  check([limit, 'default'], [max, 'max'], ['default', max]);
  const mayOvercommit = isNativeName(name) && !name.startsWith(hugePagesPrefix);
  errors.push(...ratioErrors(`${at}.maxLimitRequestRatio[${name}]`, { min, max, ratio }));
  if (!mayOvercommit && limit !== undefined && request !== undefined && limit.nano !== request.nano) {
    const shown = printQuantity(request);
    const detail = `default value ${printQuantity(limit)} must equal to defaultRequest value ${shown} in ${name}`;
    errors.push(invalidValue(`${at}.defaultRequest[${name}]`, shown, detail));
  }
  return errors;
}

function ratioErrors(path: string, { min, max, ratio }: Pick<Bounds, 'min' | 'max' | 'ratio'>): readonly FieldError[] {
  if (ratio === undefined) return [];
  const shown = printQuantity(ratio);
  const tooSmall =
    ratio.nano < wholeQuantity(1).nano ? [invalidValue(path, shown, `ratio ${shown} is less than 1`)] : [];
  if (min === undefined || max === undefined) return tooSmall;
  const largest = Number(max.nano) / Number(min.nano);
  if (Number(ratio.nano) / 1e9 <= largest) return tooSmall;
  const detail = `ratio ${shown} is greater than max/min = ${largest === Infinity ? '+Inf' : largest.toFixed(6)}`;
  return [...tooSmall, invalidValue(path, shown, detail)];
}
