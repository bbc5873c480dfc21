// Runs docs/how-to/encrypt-secrets.md: writes its configurations to files and runs its commands.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { run } from './harness/command.ts';
import { temporaryDirectory } from './harness/fairlead.ts';
import { findKubectls } from './harness/kubectl.ts';
import { FairleadProcess, root } from './harness/process.ts';

const soonMs = 60_000;

interface Block {
  readonly language: string;
  readonly text: string;
}

async function blocks(): Promise<readonly Block[]> {
  const page = await readFile(join(root, 'docs', 'how-to', 'encrypt-secrets.md'), 'utf8');
  return Array.from(page.matchAll(/^```(\w+)\n(.*?)^```/gms), ([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** The bytes of all files under a folder. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
}

test('the how-to for encryption at rest works, and no file of the server contains a password', async () => {
  await using folder = await temporaryDirectory();
  const [kubectl] = await findKubectls();
  const programs = join(folder.path, 'programs');
  await mkdir(programs);
  await symlink(kubectl?.path ?? '', join(programs, 'kubectl'));
  const keys = join(folder.path, 'keys.yaml');
  const env = {
    PATH: [programs, process.env['PATH']].join(delimiter),
    HOME: folder.path,
    KUBECONFIG: join(folder.path, '.fairlead', 'kubeconfig'),
  };
  const newKey = (): string => randomBytes(32).toString('base64');
  let latest = newKey();
  await using stack = new AsyncDisposableStack();
  for (const { language, text } of await blocks()) {
    if (language === 'yaml') {
      const before = latest;
      latest = newKey();
      await writeFile(keys, text.replace(/<head .*>/, latest).replace('<the key from before>', before));
      await chmod(keys, 0o600);
    } else if (language === 'sh') {
      const [, ...words] = text.trim().split(' ').slice(1);
      const args = [...words, '--secure-port', '0', '--data-dir', join(folder.path, '.fairlead')];
      const server = stack.use(new FairleadProcess(args.map((word) => (word === 'keys.yaml' ? keys : word))));
      await server.ready();
    } else {
      for (const [, command = '', expected = ''] of text.matchAll(/^\$ (.*)\n((?:[^$].*\n)*)/gm)) {
        const isRead = !command.includes('create');
        for (const end = performance.now() + soonMs; ; await delay(200)) {
          const { out, err } = await run('bash', ['-c', command], { cwd: folder.path, env });
          if (`${err}${out}`.trim() !== expected.trim() && isRead && performance.now() < end) continue;
          assert.equal(`${err}${out}`.trim(), expected.trim(), command);
          break;
        }
      }
    }
  }
  const password = Buffer.from('hunter2').toString('base64');
  const files = await filesOf(join(folder.path, '.fairlead'));
  assert.ok([...files.keys()].some((path) => path.endsWith('store.db-wal')));
  for (const [path, bytes] of files) assert.ok(!bytes.includes(password) && !bytes.includes('hunter2'), path);
});
