import { Command, CommanderError } from 'commander';
import { messageOf } from '../api/error-message.ts';
import type { CommandModule } from './command.ts';
import type { Streams } from './output.ts';
import type { PartEntry } from './parts.ts';
import { parts } from './parts.ts';

interface Entry {
  readonly summary: string;
  /** Loaded only when the command is run, to keep every other one quick. */
  readonly load: () => Promise<CommandModule>;
}

/** A part is loaded with the machinery that runs one alone. */
async function loadPart({ load }: PartEntry): Promise<CommandModule> {
  const [{ partCommand }, part] = await Promise.all([import('./part/command.ts'), load()]);
  return partCommand(part);
}

const partCommands: readonly (readonly [string, Entry])[] = Object.entries(parts).map(([name, entry]) => [
  name,
  { summary: entry.summary, load: () => loadPart(entry) },
]);

const commands: Readonly<Record<string, Entry>> = {
  up: { summary: 'run everything for one or more clusters', load: () => import('./up/command.ts') },
  server: { summary: 'run one API server', load: () => import('./server/command.ts') },
  ...Object.fromEntries(partCommands),
  mcs: { summary: 'manage a set of clusters, and explain its Services', load: () => import('./mcs/command.ts') },
  lb: { summary: 'what clouds make of a Service, and what it costs', load: () => import('./lb/command.ts') },
  user: { summary: 'write a kubeconfig for a person', load: () => import('./user/command.ts') },
  ca: { summary: 'show certificates and keys, or rotate them', load: () => import('./ca/command.ts') },
  gates: { summary: 'list the feature gates and how they are set', load: () => import('./gates/command.ts') },
  version: { summary: 'print the version', load: () => import('./version/command.ts') },
};

const usageExit = 2;
const failureExit = 1;

/** Runs the command line and gives the exit code: 0, 1 for a failure, 2 for a bad flag, file or argument. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  try {
    return await dispatch(args, streams);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // --help, which is already printed
    streams.err(`fairlead: ${lineOf(error)}${helpFor(error, args)}\n`);
    return isUsage(error) ? usageExit : failureExit;
  }
}

async function dispatch(args: readonly string[], streams: Streams): Promise<number> {
  if (args[0] === '--version') return dispatch(['version'], streams);
  const program = quiet(new Command('fairlead'), streams)
    .usage('COMMAND [flags]')
    .description('Kubernetes Services on any machine: `fairlead up`, then kubectl.')
    .addHelpText('before', rootExample)
    .addHelpText('after', '\nRun `fairlead COMMAND --help` for the flags of a command.')
    .option('--version', 'same as `fairlead version`')
    .helpCommand(false);
  let execute: (() => Promise<number>) | undefined;
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = quiet(program.command(name), streams).summary(summary).allowExcessArguments(false);
    if (name !== args[0]) continue;
    const module = await load();
    module.define(command);
    command.action(() => {
      execute = () => module.execute(command, streams);
    });
  }
  if (args.length === 0) program.help();
  await program.parseAsync(args, { from: 'user' });
  return execute === undefined ? 0 : execute();
}

const rootExample = `Example:
  fairlead up                                   # clusters east and west on this machine
  export KUBECONFIG=.fairlead/kubeconfig
  kubectl create service clusterip web --tcp=80
`;

/** Errors are printed by us, in one line. */
const quiet = (command: Command, { out }: Streams): Command =>
  command.exitOverride().configureOutput({ writeOut: out, writeErr: () => {}, outputError: () => {} });

const isUsage = (error: unknown): boolean =>
  error instanceof CommanderError || (error instanceof Error && 'code' in error && error.code === 'USAGE');

/** Where to look when a command line was not understood, and nothing alike can be suggested. */
function helpFor(error: unknown, [name = '']: readonly string[]): string {
  if (!(error instanceof CommanderError) || !unclear.has(error.code) || /Did you mean/.test(error.message)) return '';
  return `: see \`fairlead ${Object.hasOwn(commands, name) ? `${name} ` : ''}--help\``;
}

const unclear: ReadonlySet<string> = new Set([
  'commander.unknownCommand',
  'commander.unknownOption',
  'commander.missingArgument',
]);

/** Commander puts `error: ` in front and a suggestion on a second line. */
const lineOf = (error: unknown): string =>
  messageOf(error)
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
