import type { FieldError } from '../field-errors.ts';
import { invalidValue, notSupported, required } from '../field-errors.ts';
import { findField } from './field-path.ts';
import type { JsonSchema, ValidationRule } from './json-schema.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** The errors of CEL rules that do not concern their expressions. */
export const validationRuleErrors = (schema: JsonSchema, path: string): FieldError[] =>
  (schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) =>
    ruleErrors(rule, schema, `${path}.x-kubernetes-validations[${index}]`),
  );

function ruleErrors(rule: ValidationRule, schema: JsonSchema, path: string): FieldError[] {
  const { messageExpression = '', reason, fieldPath = '' } = rule;
  const errors: FieldError[] = messageErrors(rule, path);
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  if (reason !== undefined && !reasons.includes(reason)) {
    errors.push(notSupported(`${path}.reason`, reason, reasons));
  }
  if (fieldPath === '') return errors;
  const invalid = (why: string): FieldError => invalidValue(`${path}.fieldPath`, fieldPath, why);
  if (fieldPath.trim() === '') errors.push(invalid('must be non-empty if specified'));
  if (hasLineBreak(fieldPath)) errors.push(invalid('must not contain line breaks'));
  if ('problem' in findField(fieldPath, schema)) errors.push(invalid('must be a valid path'));
  return errors;
}

function messageErrors({ rule, message = '' }: ValidationRule, path: string): FieldError[] {
  const [text, trimmed] = [rule.trim(), message.trim()];
  if (text === '') return [required(`${path}.rule`, 'rule is not specified')];
  if (message !== '' && trimmed === '') {
    return [invalidValue(`${path}.message`, message, 'must be non-empty if specified')];
  }
  if (hasLineBreak(trimmed)) return [invalidValue(`${path}.message`, message, 'must not contain line breaks')];
  if (!hasLineBreak(text) || trimmed !== '') return [];
  return [required(`${path}.message`, 'message must be specified if rule contains line breaks')];
}
