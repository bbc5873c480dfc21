import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';

/** The version of this program. */
export const version: string = readVersion();

function readVersion(): string {
  // npm writes this file and refuses one without a version.
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}

/** Published when a command that runs until it is stopped has written its last log line. */
export const commandEnded = channel('fairlead:command-ended');
