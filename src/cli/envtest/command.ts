import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { fileErrorOf } from '../../api/error-message.ts';
import type { Action, Command } from '../command.ts';
import { booleanFlag, readFlag } from '../options/flags.ts';
import { parseBoolean } from '../options/values.ts';
import { codesOf, FatalError } from '../errors.ts';
import { version } from '../program.ts';
import { launchers } from './launchers.ts';

const install: Action = {
  usage: 'DIR',
  summary: 'write launchers of kube-apiserver, etcd and kubectl for envtest',
  description:
    'Write kube-apiserver, etcd and kubectl into DIR, for KUBEBUILDER_ASSETS. The API server is Fairlead with its store in memory, ' +
    'etcd only reports that it is healthy, and kubectl is that of the machine. A file that others wrote is not replaced.',
  examples: ['fairlead envtest install bin/envtest', 'KUBEBUILDER_ASSETS=$PWD/bin/envtest go test ./...'],
  flags: [{ name: 'overwrite', ...booleanFlag, description: 'replace files that others wrote' }],
  async run({ args: [given = ''], settings, streams }) {
    const dir = resolve(given);
    const overwrites = readFlag(settings, 'overwrite', parseBoolean, false);
    const files = launchers({
      node: process.execPath,
      script: fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url)),
      etcdScript: fileURLToPath(new URL('../../../bin/envtest-etcd.cjs', import.meta.url)),
      version,
    });
    try {
      await mkdir(dir, { recursive: true });
      if (!overwrites) for (const name of Object.keys(files)) await rejectForeign(join(dir, name));
      for (const [name, content] of Object.entries(files)) {
        await writeFile(join(dir, name), content);
        await chmod(join(dir, name), 0o755);
      }
    } catch (error) {
      if (error instanceof FatalError) throw error;
      throw new FatalError(`cannot write launchers into ${dir}: ${fileErrorOf(error)}`, { cause: error });
    }
    streams.out(`wrote ${Object.keys(files).join(', ')}\nexport KUBEBUILDER_ASSETS=${dir}\n`);
    return 0;
  },
};

/** Throws if the file is not a launcher. */
async function rejectForeign(path: string): Promise<void> {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codesOf(error).includes('ENOENT')) return undefined;
    throw error;
  });
  if (content === undefined || content.includes('fairlead envtest install')) return;
  throw new FatalError(`${path} exists and is not a launcher of Fairlead: pass another directory or --overwrite`);
}

/** A program that a launcher starts, with the flags of the program that it replaces. */
const replacement = (summary: string, example: string, load: () => Promise<Action['run']>): Action => ({
  usage: '[FLAG...]',
  summary,
  description:
    'Called by the launcher in the directory of `fairlead envtest install`, with the flags of envtest behind --.',
  examples: [example],
  flags: [],
  run: async (call) => (await load())(call),
});

export const command: Command = {
  description: "Run the tests of controller-runtime's envtest on Fairlead instead of kube-apiserver and etcd.",
  examples: ['fairlead envtest install bin/envtest'],
  flags: [],
  actions: {
    install,
    'kube-apiserver': replacement('run the API server of a test', 'bin/envtest/kube-apiserver --help', async () => {
      const { runApiServer } = await import('./api-server.ts');
      return ({ args }) => runApiServer(args);
    }),
  },
};
