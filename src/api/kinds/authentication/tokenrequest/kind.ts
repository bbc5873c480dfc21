import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int64, list, optional, pointer, string, struct, time } from '../../../schema/schema.ts';

const authentication = 'io.k8s.api.authentication.v1';

const boundObjectReference = struct(
  `${authentication}.BoundObjectReference`,
  'The object whose deletion invalidates a token.',
  {
    kind: optional(1, string, 'Pod, Secret or Node.'),
    apiVersion: optional(2, string, 'The API version of the object.'),
    name: optional(3, string, 'The name of the object.'),
    uid: optional(4, string, 'The UID of the object.'),
  },
);

const tokenRequestSpec = struct(`${authentication}.TokenRequestSpec`, 'The requested token.', {
  audiences: always(1, list(string), 'Audiences of the token; default: the API server.', { required: true }),
  expirationSeconds: pointer(4, int64, 'Requested lifetime in seconds; the response contains the actual one.'),
  boundObjectRef: pointer(3, boundObjectReference, 'The token is valid only while this object exists.'),
});

const tokenRequestStatus = struct(`${authentication}.TokenRequestStatus`, 'An issued token.', {
  token: always(1, string, 'The token itself.', { required: true }),
  expirationTimestamp: always(2, time, 'When the token expires.', { required: true }),
});

export const tokenRequest = objectSchema(`${authentication}.TokenRequest`, 'Requests a token of a ServiceAccount.', {
  spec: always(2, tokenRequestSpec, 'What the token should be good for.', { required: true }),
  status: always(3, tokenRequestStatus, 'The issued token.'),
});

export type TokenRequest = Infer<typeof tokenRequest>;
export type BoundObjectReference = Infer<typeof boundObjectReference>;

const defaultSeconds = 3600;
const minSeconds = 600;
const maxSeconds = 2 ** 32;

/** The request and response body of `serviceaccounts/NAME/token`. It has no path of its own. */
export const tokenRequestKind = defineKind<TokenRequest>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  plural: 'tokenrequests',
  namespaced: true,
  schema: tokenRequest,
  stored: false,
  sensitive: true,
  applyDefaults: (request) => ({
    ...request,
    spec: { ...request.spec, expirationSeconds: request.spec.expirationSeconds ?? defaultSeconds },
  }),
  validateCreate: ({ spec }) => expirationErrors(spec.expirationSeconds ?? defaultSeconds),
});

function expirationErrors(seconds: number): readonly FieldError[] {
  const path = 'spec.expirationSeconds';
  if (seconds < minSeconds) return [invalidValue(path, seconds, 'may not specify a duration less than 10 minutes')];
  if (seconds <= maxSeconds) return [];
  return [invalidValue(path, seconds, 'may not specify a duration larger than 2^32 seconds')];
}
