/** A flag, file or argument that cannot be used: shown as one line, and the process exits with 2. */
export class UsageError extends Error {
  readonly code = 'USAGE';
}

/** Something that went wrong while starting or running, already worded for a person: one line, exit 1. */
export class FatalError extends Error {
  readonly code = 'FATAL';
}

/** The `code` of an error thrown by Node or by us, looked for along its causes. */
export function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') codes.push(at.code);
  }
  return codes;
}
