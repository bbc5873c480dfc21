import { commandEnded } from './cli/program.ts';
import { run } from './cli/run.ts';
import { setTimeout } from './machine/timers.ts';

// A closed reader (`fairlead up | head -1`) does not end the process: without a handler, EPIPE would throw.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

/** How long the process waits at its end for the readers of its output. */
const outputTimeoutMs = 1000;
// Node exits when stdout is written, which never happens if its reader is paused.
commandEnded.subscribe(() => void setTimeout(() => process.exit(), outputTimeoutMs).unref());

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
