// The keys that types of Secrets require.
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { isJsonObject } from '../../../schema/json-object.ts';
import { JsonError, parseJson } from '../../../schema/json.ts';
import { goTypeName } from '../../../schema/mismatch.ts';
import { TooManyValuesError } from '../../../schema/value-budget.ts';
import type { Secret } from './schema.ts';

/** The annotation with the ServiceAccount of a token Secret. */
const serviceAccountNameAnnotation = 'kubernetes.io/service-account.name';

/** Errors about keys that the type of a Secret requires. */
export function typeErrors(secret: Secret): readonly FieldError[] {
  const { type, data = {}, metadata } = secret;
  const missing = (...keys: readonly string[]): readonly FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => required(`data[${key}]`));
  switch (type) {
    case 'kubernetes.io/service-account-token':
      return metadata.annotations?.[serviceAccountNameAnnotation]
        ? []
        : [required(`metadata.annotations[${serviceAccountNameAnnotation}]`)];
    case 'kubernetes.io/dockercfg':
      return jsonErrors(data, '.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return jsonErrors(data, '.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      // One of the two is required.
      return Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password') ? [] : missing('username', 'password');
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] ? [] : [required('data[ssh-privatekey]')];
    case 'kubernetes.io/tls':
      return missing('tls.crt', 'tls.key');
    case undefined:
    default:
      return [];
  }
}

function jsonErrors(data: Readonly<Record<string, string>>, key: string): readonly FieldError[] {
  const text = data[key];
  if (text === undefined) return [required(`data[${key}]`)];
  const why = notAnObject(Buffer.from(text, 'base64').toString());
  return why === undefined ? [] : [invalidValue(`data[${key}]`, '<secret contents redacted>', why)];
}

/** The error of text that is not a JSON object. Go's message contains at most one character of the Secret. */
function notAnObject(text: string): string | undefined {
  try {
    const { value } = parseJson(text);
    if (value === null || isJsonObject(value)) return undefined;
    return `json: cannot unmarshal ${goTypeName(value)} into Go value of type map[string]interface {}`;
  } catch (error) {
    if (error instanceof JsonError || error instanceof TooManyValuesError) return error.message;
    throw error;
  }
}
