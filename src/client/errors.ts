import { codeOf } from '../api/error-message.ts';

/** A failure that is not retried until the object changes. Identified by `code`. */
export class TerminalError extends Error {
  readonly code = 'TERMINAL';
}

/** Whether an error is a TerminalError. */
export const isTerminal = (error: unknown): boolean => codeOf(error) === 'TERMINAL';

/** An invalid kubeconfig. Identified by `code`. */
export class KubeconfigError extends Error {
  readonly code = 'USAGE';
}

/** A connection that closed before the response was complete. Has the system's error code for this. */
export class ConnectionLostError extends Error {
  readonly code = 'ECONNRESET';
}

/** A server sent more than limits.ts allows. Identified by `code`. */
export class LimitExceededError extends Error {
  readonly code = 'TOO_MUCH';
}
