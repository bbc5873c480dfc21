// Validation of the parts that validating and mutating admission policies share.

import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../field-errors.ts';
import { dns1035LabelErrors, dnsSubdomainErrors, pathSegmentErrors } from '../../names.ts';
import { labelSelectorErrors, selectorText } from '../../selectors/label-selector.ts';
import type { PolicyExpression } from './policy-expressions.ts';
import type { ParamKind, ParamRef, PolicyVariable } from './policy-schema.ts';

/** Validation errors of the kind of the parameters. */
export function paramKindErrors(path: string, given: ParamKind | undefined): FieldError[] {
  if (given === undefined) return [];
  const { apiVersion = '', kind = '' } = given;
  const [first = '', second, ...more] = apiVersion.split('/');
  const [group, version] = second === undefined ? ['', first] : [first, second];
  const at = `${path}.apiVersion`;
  const versionErrors =
    apiVersion === ''
      ? [required(at)]
      : more.length > 0
        ? [invalidValue(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
        : [
            ...(group === '' ? [] : dnsSubdomainErrors(group).map((problem) => invalidValue(at, group, problem))),
            ...(version === ''
              ? [invalidValue(at, apiVersion, 'version must be specified')]
              : dns1035LabelErrors(version).map((problem) => invalidValue(at, version, problem))),
          ];
  const kindProblems = kind === '' ? [] : dns1035LabelErrors(kind.toLowerCase());
  return [
    ...versionErrors,
    ...(kind === '' ? [required(`${path}.kind`)] : []),
    ...kindProblems.map((problem) =>
      invalidValue(`${path}.kind`, kind, `may have mixed case, but should otherwise match: ${problem}`),
    ),
  ];
}

/** The cell of a table for the kind of the parameters. */
export const printParamKind = (given: ParamKind | undefined): string =>
  given === undefined ? '<unset>' : `${given.apiVersion ?? ''}/${given.kind ?? ''}`;

/** Validation errors of the variables of a policy. */
export const variableErrors = (
  path: string,
  variables: readonly PolicyVariable[],
  compiled: ReadonlyMap<string, PolicyExpression>,
): FieldError[] =>
  variables.flatMap(({ name, expression }, index) => [
    ...(name.trim() === ''
      ? [required(`${path}[${index}].name`, 'name is not specified')]
      : /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name)
        ? []
        : [invalidValue(`${path}[${index}].name`, name, 'must be a valid CEL identifier')]),
    ...(expression.trim() === ''
      ? [required(`${path}[${index}].expression`, 'expression is not specified')]
      : problemsOf(`${path}[${index}].expression`, compiled.get(name))),
  ]);

/** Validation errors of the policy that a binding names. */
export const policyNameErrors = (path: string, name: string): FieldError[] =>
  name === '' ? [required(path)] : dnsSubdomainErrors(name).map((problem) => invalidValue(path, name, problem));

const notFoundActions: readonly string[] = ['Deny', 'Allow'];

/** Validation errors of the parameters of a binding. */
export function paramRefErrors(path: string, ref: ParamRef | undefined): FieldError[] {
  if (ref === undefined) return [];
  const { name = '', selector, parameterNotFoundAction = '' } = ref;
  const both = 'name and selector are mutually exclusive';
  const isBoth = name !== '' && selector !== undefined;
  return [
    ...(name === '' ? [] : pathSegmentErrors(name).map((problem) => invalidValue(`${path}.name`, name, problem))),
    ...(isBoth ? [forbiddenField(`${path}.name`, both)] : []),
    ...(selector === undefined ? [] : labelSelectorErrors(`${path}.selector`, selector)),
    ...(isBoth ? [forbiddenField(`${path}.selector`, both)] : []),
    ...(name === '' && selector === undefined ? [required(path, 'one of name or selector must be specified')] : []),
    ...(parameterNotFoundAction === ''
      ? [required(`${path}.parameterNotFoundAction`)]
      : notFoundActions.includes(parameterNotFoundAction)
        ? []
        : [notSupported(`${path}.parameterNotFoundAction`, parameterNotFoundAction, notFoundActions)]),
  ];
}

/** The cell of a table for the parameters of a binding. */
export function printParamRef(ref: ParamRef | undefined): string {
  if (ref === undefined) return '<unset>';
  const { name = '', namespace = '', selector } = ref;
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector === undefined ? '<unset>' : selectorText(selector);
}

/** The problem of an expression, as a validation error. */
export const problemsOf = (path: string, compiled: PolicyExpression | undefined): FieldError[] =>
  compiled?.problem === undefined ? [] : [invalidValue(path, compiled.text, compiled.problem)];
