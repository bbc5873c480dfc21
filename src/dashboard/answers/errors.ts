/** A request that is answered with an error of HTTP; its message is for people. */
export class AnswerError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
