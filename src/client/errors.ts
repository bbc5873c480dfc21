/** A failure that trying again does not help: it waits until the object changes. Told apart by `code`. */
export class TerminalError extends Error {
  readonly code = 'TERMINAL';
}

/** Whether trying again does not help. */
export const isTerminal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'TERMINAL';

/** A kubeconfig that cannot be used; its message says where and why. Told apart by `code`. */
export class KubeconfigError extends Error {
  readonly code = 'USAGE';
}

/** A connection that ended before an answer did. Its code is the system's for that, since it is told apart by it. */
export class ConnectionLostError extends Error {
  readonly code = 'ECONNRESET';
}

/** A server sent more than the client holds, see limits.ts. Identified by `code`. */
export class LimitExceededError extends Error {
  readonly code = 'TOO_MUCH';
}
