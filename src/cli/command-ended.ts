import { channel } from 'node:diagnostics_channel';

/** Published when a command that runs until it is stopped has written its last log line. */
export const commandEnded = channel('fairlead:command-ended');
