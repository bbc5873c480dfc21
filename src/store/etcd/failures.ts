import type { ServiceError } from '@grpc/grpc-js';

import { messageOf } from '../../api/error-message.ts';

/** What went wrong with a call of etcd, which decides what to do. */
export type Failure =
  /** The request was not sent, or rejected before it could be applied: another member may serve it. */
  | 'not applied'
  /** There is no answer: a write may be applied, now or later. */
  | 'unknown'
  | 'compacted'
  | 'future revision'
  | 'no space'
  | 'overloaded'
  | 'too large'
  | 'invalid transaction'
  | 'lease not found'
  | 'denied';

/** Codes alone are ambiguous: several failures share one. */
const failures: readonly (readonly [pattern: RegExp, failure: Failure])[] = [
  [/No connection established/, 'not applied'],
  [/etcdserver: no leader/, 'not applied'],
  [/required revision has been compacted/, 'compacted'],
  [/required revision is a future revision/, 'future revision'],
  [/database space exceeded/, 'no space'],
  [/too many requests/, 'overloaded'],
  [/request is too large/, 'too large'],
  [/larger than max/, 'too large'],
  [/too many operations in txn/, 'invalid transaction'],
  [/duplicate key given/, 'invalid transaction'],
  [/requested lease not found/, 'lease not found'],
  [/permission denied/, 'denied'],
  [/user name is empty/, 'denied'],
  [/invalid auth token/, 'denied'],
  [/authentication failed/, 'denied'],
];

/** Classifies the error of a call. */
export function failureOf(error: unknown): Failure {
  const message = messageOf(error);
  return failures.find(([pattern]) => pattern.test(message))?.[1] ?? 'unknown';
}

/** The reason for the operator, without gRPC's and OpenSSL's words around it. */
export function reasonOf(error: unknown): string {
  const { details } = error as Partial<ServiceError>;
  const text = details ?? messageOf(error);
  if (failureOf(error) === 'denied') return `etcd rejects the credentials of this server: ${text}`;
  if (text.startsWith('Deadline exceeded')) return 'no answer in time';
  // grpc-js names the cause after a list of addresses, and before notes or the time.
  const last = text.split('Last error: ')[1];
  const cause = (last?.replace(/^Error: /, '') ?? text).split('. Resolution note')[0]?.split(' (20')[0]?.trim() ?? text;
  return explained(cause);
}

/** Causes of failed connections, and what they mean. */
const explanations: readonly (readonly [pattern: RegExp, explain: (cause: string) => string])[] = [
  // As in 4003109D:error:0A000412:SSL routines:ssl3_read_bytes:ssl/tls alert bad certificate:../deps/…:SSL alert number 42
  [
    /:ssl\/tls alert (?:bad |no |unsupported )?(?:certificate|unknown ca)/,
    (cause) => {
      const alert = cause.split(':ssl/tls alert ')[1]?.split(':')[0] ?? '';
      return `etcd requires another client certificate than --etcd-certfile (TLS alert "${alert}")`;
    },
  ],
  [
    /before secure TLS connection was established|wrong version number/,
    () => 'the member does not use TLS: its URL needs http://',
  ],
  [/^Failed to connect$/, () => 'the member closed the connection: if it uses TLS, its URL needs https://'],
  [
    /self-signed certificate|unable to (?:verify|get)/,
    (cause) => `no authority of --etcd-cafile has signed the certificate of the member: ${cause.split(';')[0]}`,
  ],
  [/^certificate has expired$/, () => 'the certificate of the member has expired'],
];

const explained = (cause: string): string => explanations.find(([pattern]) => pattern.test(cause))?.[1](cause) ?? cause;
