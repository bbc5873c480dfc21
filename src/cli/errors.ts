/** A flag, file or argument that cannot be used: printed as one line, and the process exits with 2. */
export class UsageError extends Error {
  readonly code = 'USAGE';
}

/** A failure at the start or at runtime, worded for people: printed as one line, and the process exits with 1. */
export class FatalError extends Error {
  readonly code = 'FATAL';
}

/** The `code` of an error and of its causes. */
export function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') codes.push(at.code);
  }
  return codes;
}
