import { commandEnded } from './cli/command-ended.ts';
import { run } from './cli/run.ts';
import { setTimeout } from './machine/timers.ts';

// A reader that has gone (`fairlead up | head -1`) is no reason to end. Its stream would end the process with EPIPE.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

/** How long the end of a command waits for the readers of its output. */
const lastWordsMs = 1000;
// Node ends when stdout is written, which is never if nobody reads it.
commandEnded.subscribe(() => void setTimeout(() => process.exit(), lastWordsMs).unref());

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
