import type { Command } from './command.ts';
import type { PartEntry } from './parts.ts';
import { parts } from './parts.ts';

/** A row of the list of commands. */
export interface CommandEntry {
  /** One phrase in the imperative. */
  readonly summary: string;
  /** The heading in `fairlead help`. */
  readonly group: string;
  /** Imports the command's code: only the command that runs pays for it. */
  readonly load: () => Promise<Command>;
}

const run = 'Clusters';
const part = 'Components of a cluster, which also run alone in any Kubernetes';
const manage = 'Inspect and manage';
const other = 'Other';

/** A part is loaded with the code that runs one alone. */
async function loadPart({ load }: PartEntry): Promise<Command> {
  const [{ partCommand }, loaded] = await Promise.all([import('./part/command.ts'), load()]);
  return partCommand(loaded);
}

/** All commands, in the order of the help. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  up: {
    summary: 'run everything for one or more clusters',
    group: run,
    load: async () => (await import('./up/command.ts')).command,
  },
  server: {
    summary: 'run one API server',
    group: run,
    load: async () => (await import('./server/command.ts')).command,
  },
  run: {
    summary: 'run a command as an endpoint of a Service',
    group: run,
    load: async () => (await import('./run-service/command.ts')).command,
  },
  ...Object.fromEntries(
    Object.entries(parts).map(([name, entry]) => [
      name,
      { summary: entry.summary, group: part, load: () => loadPart(entry) },
    ]),
  ),
  install: {
    summary: 'install components in a Kubernetes cluster, or print their manifests',
    group: manage,
    load: async () => (await import('./install/command.ts')).command,
  },
  uninstall: {
    summary: 'remove all installed components from a cluster',
    group: manage,
    load: async () => (await import('./uninstall/command.ts')).command,
  },
  status: {
    summary: 'print the state of all clusters, and what needs attention',
    group: manage,
    load: async () => (await import('./status/command.ts')).command,
  },
  mcs: {
    summary: 'manage a set of clusters, and explain its Services',
    group: manage,
    load: async () => (await import('./mcs/command.ts')).command,
  },
  lb: {
    summary: 'show how clouds implement a LoadBalancer Service, and its cost',
    group: manage,
    load: async () => (await import('./lb/command.ts')).command,
  },
  user: {
    summary: 'write a kubeconfig for a person or a component',
    group: manage,
    load: async () => (await import('./user/command.ts')).command,
  },
  ca: {
    summary: 'show certificates and keys, or rotate them',
    group: manage,
    load: async () => (await import('./ca/command.ts')).command,
  },
  store: {
    summary: 'back up, restore, move and check stores',
    group: manage,
    load: async () => (await import('./store/command.ts')).command,
  },
  tunnel: {
    summary: 'reach API servers that cannot be dialled',
    group: manage,
    load: async () => (await import('./tunnel/command.ts')).command,
  },
  envtest: {
    summary: "run the tests of controller-runtime's envtest on Fairlead",
    group: manage,
    load: async () => (await import('./envtest/command.ts')).command,
  },
  gates: {
    summary: 'list the feature gates and their values',
    group: manage,
    load: async () => (await import('./gates/command.ts')).command,
  },
  completion: {
    summary: 'print the completion script of a shell',
    group: other,
    load: async () => (await import('./completion/command.ts')).command,
  },
  version: {
    summary: 'print the version',
    group: other,
    load: async () => (await import('./version/command.ts')).command,
  },
  help: {
    summary: 'print the help of a command or an action',
    group: other,
    load: async () => ({
      usage: '[COMMAND] [ACTION]',
      examples: ['fairlead help dns', 'fairlead help dns query'],
      flags: [],
      run: () => Promise.reject(new Error('bug: `fairlead help` is handled before commands are run')),
    }),
  },
};
