import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { isWhole, parseQuantity, printQuantity } from '../../../quantity.ts';
import { containerResourceNameErrors } from '../resource-names.ts';
import { hugePagesPrefix, isIntegerName, isNativeName } from '../resourcequota/names.ts';
import type { Container } from './schema.ts';

type Resources = Container['resources'];

/** Validation errors of the requests and limits of a container at `path`. */
export function resourceErrors({ limits = {}, requests = {} }: Resources, path: string): readonly FieldError[] {
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const hasComputed = names.some((name) => name === 'cpu' || name === 'memory');
  const needsComputed = !hasComputed && names.some((name) => name.startsWith(hugePagesPrefix));
  return [
    ...Object.entries(limits).flatMap(([name, amount]) => amountErrors(name, amount, `${path}.limits[${name}]`)),
    ...Object.entries(requests).flatMap(([name, amount]) => [
      ...amountErrors(name, amount, `${path}.requests[${name}]`),
      ...excessErrors(name, amount, Object.hasOwn(limits, name) ? limits[name] : undefined, path),
    ]),
    ...(needsComputed ? [forbiddenField(path, 'HugePages require cpu or memory')] : []),
  ];
}

function amountErrors(name: string, amount: string | number, path: string): readonly FieldError[] {
  const quantity = parseQuantity(String(amount));
  const shown = printQuantity(quantity);
  return [
    ...invalidAll(path, name, containerResourceNameErrors(name)),
    ...(quantity.nano < 0n ? [invalidValue(path, shown, 'must be greater than or equal to 0')] : []),
    ...(isIntegerName(name) && !isWhole(quantity) ? [invalidValue(path, shown, 'must be an integer')] : []),
  ];
}

/** Errors of a request above its limit. Resources that cannot be overcommitted need a limit that is equal. */
function excessErrors(
  name: string,
  amount: string | number,
  limit: string | number | undefined,
  path: string,
): readonly FieldError[] {
  const mayOvercommit = isNativeName(name) && !name.startsWith(hugePagesPrefix);
  if (limit === undefined) {
    return mayOvercommit ? [] : [required(`${path}.limits`, 'Limit must be set for non overcommitable resources')];
  }
  const [request, maximum] = [parseQuantity(String(amount)), parseQuantity(String(limit))];
  const invalid = (rule: string): readonly FieldError[] => [
    invalidValue(
      `${path}.requests`,
      printQuantity(request),
      `must be ${rule} ${name} limit of ${printQuantity(maximum)}`,
    ),
  ];
  if (!mayOvercommit && request.nano !== maximum.nano) return invalid('equal to');
  return request.nano > maximum.nano ? invalid('less than or equal to') : [];
}
