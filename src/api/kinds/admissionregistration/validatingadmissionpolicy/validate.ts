import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { equalJson } from '../../../schema/equal-json.ts';
import { matchConditionErrors } from '../match-conditions.ts';
import { matchErrors, rulesErrors } from '../match-resources.ts';
import type { PolicyExpression } from '../policy-expressions.ts';
import type { PolicyExpressions } from './expressions.ts';
import { compilePolicy } from './expressions.ts';
import { paramKindErrors, problemsOf, variableErrors } from '../validate-policy.ts';
import type { AuditAnnotation, PolicySpec, Validation, ValidatingAdmissionPolicy } from './schema.ts';

const failurePolicies: readonly string[] = ['Fail', 'Ignore'];
const reasons: readonly string[] = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const maxAnnotations = 20;
const maxValueBytes = 5 * 1024;

/** Validation errors of a policy. Expressions that are stored already are not compiled again. */
export function policyErrors(
  { metadata: { name = '' }, spec = {} }: ValidatingAdmissionPolicy,
  old?: ValidatingAdmissionPolicy,
): readonly FieldError[] {
  if (old !== undefined && equalJson(old.spec ?? {}, spec)) return [];
  const { failurePolicy = '', paramKind, matchConstraints, matchConditions = [] } = spec;
  const expressions = compilePolicy(spec);
  return [
    ...(failurePolicies.includes(failurePolicy)
      ? []
      : [notSupported('spec.failurePolicy', failurePolicy, failurePolicies)]),
    ...paramKindErrors('spec.paramKind', paramKind),
    ...(matchConstraints === undefined
      ? [required('spec.matchConstraints')]
      : [
          ...matchErrors('spec.matchConstraints', matchConstraints),
          ...rulesErrors('spec.matchConstraints', matchConstraints),
        ]),
    ...matchConditionErrors('spec.matchConditions', matchConditions, {
      declared: { params: paramKind !== undefined },
      stored: old?.spec?.matchConditions ?? [],
    }),
    ...variableErrors('spec.variables', spec.variables ?? [], expressions.variables),
    ...contentErrors(spec),
    ...expressions.validations.flatMap(({ validation, condition, message }, index) =>
      validationErrors(`spec.validations[${index}]`, validation, { condition, message }),
    ),
    ...annotationErrors('spec.auditAnnotations', name, expressions),
  ];
}

function contentErrors({ validations = [], auditAnnotations = [] }: PolicySpec): FieldError[] {
  if (validations.length > 0 || auditAnnotations.length > 0) return [];
  const why = 'validations or auditAnnotations must contain at least one item';
  return [required('spec.validations', why), required('spec.auditAnnotations', why)];
}

function validationErrors(
  path: string,
  { expression, message = '', messageExpression = '', reason }: Validation,
  compiled: { readonly condition: PolicyExpression; readonly message: PolicyExpression | undefined },
): FieldError[] {
  const isBlank = (text: string): boolean => text !== '' && text.trim() === '';
  return [
    ...(expression.trim() === ''
      ? [required(`${path}.expression`, 'expression is not specified')]
      : problemsOf(`${path}.expression`, compiled.condition)),
    ...(isBlank(messageExpression)
      ? [invalidValue(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified')]
      : problemsOf(`${path}.messageExpression`, compiled.message)),
    ...(isBlank(message)
      ? [invalidValue(`${path}.message`, message, 'must be non-empty if specified')]
      : /[\r\n]/.test(message.trim())
        ? [invalidValue(`${path}.message`, message, 'must not contain line breaks')]
        : []),
    ...(reason === undefined || reasons.includes(reason) ? [] : [notSupported(`${path}.reason`, reason, reasons)]),
  ];
}

function annotationErrors(path: string, policy: string, { auditAnnotations }: PolicyExpressions): FieldError[] {
  const keys = new Set<string>();
  const errors = auditAnnotations.slice(0, maxAnnotations).flatMap(({ annotation, value }, index) => {
    const { key, valueExpression } = annotation;
    const at = `${path}[${index}]`;
    const isRepeated = keys.has(key);
    keys.add(key);
    return [
      ...keyErrors(`${at}.key`, policy, annotation),
      ...(value.text === ''
        ? [required(`${at}.valueExpression`, 'valueExpression is not specified')]
        : Buffer.byteLength(value.text) > maxValueBytes
          ? [required(`${at}.valueExpression`, `must not exceed ${maxValueBytes} bytes in length`)]
          : problemsOf(`${at}.valueExpression`, { ...value, text: valueExpression })),
      ...(isRepeated ? [duplicate(`${at}.key`, key)] : []),
    ];
  });
  return auditAnnotations.length > maxAnnotations
    ? [
        invalidValue(
          path,
          auditAnnotations.map(({ annotation }) => annotation),
          `must not have more than ${maxAnnotations} auditAnnotations`,
        ),
        ...errors,
      ]
    : errors;
}

const keyErrors = (path: string, policy: string, { key }: AuditAnnotation): FieldError[] =>
  policy === ''
    ? [invalidValue(path, key, 'requires metadata.name be non-empty')]
    : qualifiedNameErrors(`${policy}/${key}`).map((problem) => invalidValue(path, `${policy}/${key}`, problem));
