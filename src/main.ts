import { run } from './cli/run.ts';

// A reader that has gone (`fairlead up | head -1`) is no reason to end. Its stream would end the process with EPIPE.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
