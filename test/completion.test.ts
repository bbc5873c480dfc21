// Completes command lines in real shells with the scripts of `fairlead completion`.
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { run } from './harness/command.ts';
import { temporaryDirectory } from './harness/fairlead.ts';
import { unlessInstalled } from './harness/needs.ts';
import { root } from './harness/process.ts';

/** Shell → a script that completes `$1`, the words before the cursor, and prints the completions. */
const scripts = {
  bash: `source <(fairlead completion bash)
COMP_LINE=$1 COMP_POINT=\${#1}
read -ra COMP_WORDS <<< "\${1//=/ = }"
if [[ $1 == *[\\ =] ]]; then COMP_WORDS+=(''); fi
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_fairlead
printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { }
compadd() { print -l -- $completions }
_files() { print -l -- \${words[$CURRENT]}*(N) }
source <(fairlead completion zsh)
words=("\${(@s: :)1}") CURRENT=\${#words}
_fairlead`,
  fish: `fairlead completion fish | source
complete -C "$argv[1]" | string replace -r '\\t.*' ''`,
} as const;

/** Bash replaces only the text after "=". */
const cases: readonly (readonly [line: string, want: readonly string[], inBash?: readonly string[]])[] = [
  ['fairlead m', ['mcs', 'multicluster']],
  ['fairlead mcs st', ['status']],
  ['fairlead help dns ', ['import-corefile', 'query']],
  ['fairlead up --store ', ['etcd', 'memory', 'sqlite']],
  ['fairlead up --store=s', ['--store=sqlite'], ['sqlite']],
  ['fairlead up --accept', ['--accept-data-loss']],
  ['fairlead completion ', ['bash', 'fish', 'zsh']],
];

for (const [shell, script] of Object.entries(scripts)) {
  describe(`completion in ${shell}`, { skip: unlessInstalled(shell) }, () => {
    const stack = new AsyncDisposableStack();
    let directory = '';
    before(async () => {
      directory = stack.use(await temporaryDirectory()).path;
      const program = join(directory, 'fairlead');
      await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'bin', 'fairlead.js')}' "$@"\n`);
      await chmod(program, 0o755);
      await writeFile(join(directory, 'manifest.yaml'), '');
    });
    after(() => stack.disposeAsync());

    const complete = async (line: string): Promise<readonly string[]> => {
      const env = { PATH: [directory, process.env['PATH']].join(delimiter), HOME: directory };
      const args =
        shell === 'zsh'
          ? ['-f', '-c', script, 'zsh', line]
          : ['-c', script, ...(shell === 'bash' ? ['bash'] : []), line];
      const { out, err } = await run(shell, args, { cwd: directory, env });
      assert.equal(err, '');
      return out
        .split('\n')
        .filter((each) => each !== '')
        .toSorted();
    };
    for (const [line, want, inBash = want] of cases) {
      test(`completes "${line}"`, async () => assert.deepEqual(await complete(line), shell === 'bash' ? inBash : want));
    }
    test('leaves file names to the shell', async () => {
      const found = await complete('fairlead up --apply man');
      assert.deepEqual(found, shell === 'bash' ? [] : ['manifest.yaml']); // bash completes them itself: -o default
    });
  });
}
