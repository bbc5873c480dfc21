// Types of Secrets that promise certain keys.
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import type { Secret } from './schema.ts';

/** The annotation that names the ServiceAccount of a token Secret. */
const serviceAccountNameAnnotation = 'kubernetes.io/service-account.name';

/** The keys that the type of a Secret promises and that are missing or malformed. */
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
      // One of the two is enough.
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
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return [];
    return [invalidValue(`data[${key}]`, '<secret contents redacted>', 'must be a JSON object')];
  } catch {
    // The parser's message would quote the secret.
    return [invalidValue(`data[${key}]`, '<secret contents redacted>', 'must be a JSON object')];
  }
}
