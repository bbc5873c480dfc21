import type { Status, StatusDetails } from '../../../api/errors.ts';
import { internalError, StatusError } from '../../../api/errors.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { Verdict } from './review.ts';

/** The error of a write that a webhook has refused: its Status, made one of a failure. */
export function denial(name: string, { result }: Verdict): StatusError {
  const { code, reason, message, details, metadata } = result;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const why = text(message) || text(reason);
  const deniedBy = `admission webhook ${JSON.stringify(name)} denied the request`;
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: isJsonObject(metadata) ? metadata : {},
    status: 'Failure',
    message: why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(text(reason) === '' ? {} : { reason: text(reason) }),
    // The webhook's own words, which clients read as they read ours.
    ...(isJsonObject(details) ? { details: details as StatusDetails } : {}),
    code: typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : 400,
  };
  return new StatusError(status);
}

/** The error of a write that a webhook could not be asked about, and that must not go on without it. */
export const uncalled = (name: string, error: unknown): StatusError => internalError(callFailure(name, error));

/** What went wrong, as Kubernetes tells it. */
export const callFailure = (name: string, error: unknown): string =>
  `failed calling webhook ${JSON.stringify(name)}: ${messageOf(error)}`;
