import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { isWhole, parseQuantity, printQuantity } from '../../../quantity.ts';
import type { ResourceQuota } from './schema.ts';
import { resourceNameErrors } from '../resource-names.ts';
import { isIntegerName, isStandardName, resourcesInScope } from './names.ts';

const conflictingScopes = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

const onlyExists =
  "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

/** Validation errors of a new quota. */
export function validateQuota({ spec, status }: ResourceQuota): readonly FieldError[] {
  return [
    ...amountErrors('spec.hard', spec.hard),
    ...scopeErrors(spec),
    ...selectorErrors(spec),
    ...amountErrors('status.hard', status.hard),
    ...amountErrors('status.used', status.used),
  ];
}

/** Validation errors of a changed quota. */
export function validateQuotaUpdate(next: ResourceQuota, old: ResourceQuota): readonly FieldError[] {
  const [scopes, before] = [new Set(next.spec.scopes), new Set(old.spec.scopes)];
  const isSame = scopes.size === before.size && scopes.isSubsetOf(before);
  return [
    ...amountErrors('spec.hard', next.spec.hard),
    ...scopeErrors(next.spec),
    ...selectorErrors(next.spec),
    ...(isSame ? [] : [invalidValue('spec.scopes', next.spec.scopes ?? [], 'field is immutable')]),
  ];
}

/** Validation errors of a changed status. */
export function validateQuotaStatus(next: ResourceQuota): readonly FieldError[] {
  return [...amountErrors('status.hard', next.status.hard), ...amountErrors('status.used', next.status.used)];
}

function amountErrors(path: string, amounts: Readonly<Record<string, string | number>> = {}): readonly FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const at = `${path}[${name}]`;
    const quantity = parseQuantity(String(amount));
    const shown = printQuantity(quantity);
    return [
      ...invalidAll(at, name, nameErrors(name)),
      ...(quantity.nano < 0n ? [invalidValue(at, shown, 'must be greater than or equal to 0')] : []),
      ...(isIntegerName(name) && !isWhole(quantity) ? [invalidValue(at, shown, 'must be an integer')] : []),
    ];
  });
}

const nameErrors = (name: string): readonly string[] => [
  ...resourceNameErrors(name),
  ...(name.includes('/') || isStandardName(name) ? [] : ['must be a standard resource for quota']),
];

function scopeErrors({ scopes = [], hard = {} }: ResourceQuota['spec']): readonly FieldError[] {
  const invalid = (detail: string): FieldError => invalidValue('spec.scopes', scopes, detail);
  return [
    ...scopes.flatMap((scope) => scopeProblems(scope, hard).map(invalid)),
    ...conflictsAmong(scopes).map(invalid),
  ];
}

function selectorErrors({ scopeSelector, scopes = [], hard = {} }: ResourceQuota['spec']): readonly FieldError[] {
  if (scopeSelector === undefined) return [];
  const { matchExpressions = [] } = scopeSelector;
  const path = 'spec.scopeSelector.matchExpressions';
  return [
    ...matchExpressions.flatMap(({ scopeName, operator, values = [] }) => [
      ...scopeProblems(scopeName, hard).map((detail) =>
        detail === unsupported
          ? invalidValue(`${path}.scopeName`, scopeName, detail)
          : invalidValue(path, scopeSelector, detail),
      ),
      ...(resourcesInScope(scopeName) !== undefined && scopeName !== 'PriorityClass' && operator !== 'Exists'
        ? [invalidValue(`${path}.operator`, operator, onlyExists)]
        : []),
      ...operatorErrors(path, operator, values),
    ]),
    ...conflictsAmong(matchExpressions.map(({ scopeName }) => scopeName)).map((detail) =>
      invalidValue(path, scopes, detail),
    ),
  ];
}

const unsupported = 'unsupported scope';

function scopeProblems(scope: string, hard: Readonly<Record<string, unknown>>): readonly string[] {
  const resources = resourcesInScope(scope);
  if (resources === undefined) return [unsupported];
  const outside = Object.keys(hard).filter((name) => isStandardName(name) && !resources.has(name));
  return outside.map(() => 'unsupported scope applied to resource');
}

function conflictsAmong(scopes: readonly string[]): readonly string[] {
  const clashes = conflictingScopes.filter((pair) => pair.every((scope) => scopes.includes(scope)));
  return clashes.map(() => 'conflicting scopes');
}

function operatorErrors(path: string, operator: string, values: readonly string[]): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length > 0) return [];
      return [
        required(`${path}.values`, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
      ];
    case 'Exists':
    case 'DoesNotExist': {
      if (values.length === 0) return [];
      const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      return [invalidValue(`${path}.values`, values, detail)];
    }
    default:
      return [invalidValue(`${path}.operator`, operator, 'not a valid selector operator')];
  }
}
