/** Why a query failed: the upstream has too many, a network error, or cancellation. */
export type UpstreamErrorCode = 'BUSY' | 'NETWORK' | 'ABORTED';

/** A query without an answer. Distinguished by `code`. */
export class UpstreamError extends Error {
  readonly code: UpstreamErrorCode;

  constructor(code: UpstreamErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether an upstream had too many queries, which is not its failure. */
export const isBusy = (error: unknown): boolean => error instanceof UpstreamError && error.code === 'BUSY';
