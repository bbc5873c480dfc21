/** Why an upstream gave no answer: no room for another question, an error of the network, or the end of our patience. */
export type UpstreamErrorCode = 'BUSY' | 'NETWORK' | 'ABORTED';

/** A question that an upstream gave no answer to. Told apart by `code`. */
export class UpstreamError extends Error {
  readonly code: UpstreamErrorCode;

  constructor(code: UpstreamErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether something thrown says that an upstream had no room, which is no fault of it. */
export const isBusy = (error: unknown): boolean => error instanceof UpstreamError && error.code === 'BUSY';
