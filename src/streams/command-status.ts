// The last message of a command: a Status on the error stream.

/** The Status that ends a command, without the fields that its readers ignore. */
export interface CommandStatus {
  readonly metadata: object;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
  readonly code?: number;
}

export const commandSuccess: CommandStatus = { metadata: {}, status: 'Success' };

/** The status of a command that ended with another exit code than 0. */
export const exitStatus = (code: number): CommandStatus => ({
  metadata: {},
  status: 'Failure',
  message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
});

const internalPrefix = 'Internal error occurred: ';

/** The status of a command that could not be started, or whose stream failed. */
export const internalStatus = (message: string): CommandStatus => ({
  metadata: {},
  status: 'Failure',
  message: `${internalPrefix}${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
});

/** How a command ended: its exit code, or why there is none. */
export type CommandEnd = { readonly exitCode: number } | { readonly problem: string };

/** Reads what a node has written to the error stream in protocol v4. Empty counts as success. */
export function parseCommandStatus(text: string): CommandEnd {
  if (text === '') return { exitCode: 0 };
  let status: Partial<CommandStatus> | null;
  try {
    // Every field is checked where it is used.
    status = JSON.parse(text) as Partial<CommandStatus> | null;
  } catch (error) {
    return {
      problem: `error stream protocol error: ${error instanceof Error ? error.message : ''} in ${JSON.stringify(text)}`,
    };
  }
  if (status?.status === 'Success') return { exitCode: 0 };
  if (status?.status !== 'Failure') return { problem: 'error stream protocol error: unknown error' };
  if (status.reason !== 'NonZeroExitCode') return { problem: String(status.message ?? '').replace(internalPrefix, '') };
  const cause = status.details?.causes?.find?.(({ reason }) => reason === 'ExitCode');
  if (cause === undefined) return { problem: 'error stream protocol error: no ExitCode cause given' };
  const code = Number(cause.message);
  return Number.isInteger(code) && code >= 0 && code <= 255
    ? { exitCode: code }
    : { problem: `error stream protocol error: invalid exit code value ${JSON.stringify(cause.message)}` };
}

/** The status that a client receives for the end of a command. */
export function statusOf(end: CommandEnd): CommandStatus {
  if ('problem' in end) return internalStatus(end.problem);
  return end.exitCode === 0 ? commandSuccess : exitStatus(end.exitCode);
}
