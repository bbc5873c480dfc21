import assert from 'node:assert/strict';
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import type { NftablesError } from './errors.ts';
import { Nft } from './nft.ts';
import { probe } from './probe.ts';
import type { ProgramLine } from './program.ts';

// A fake nft that fails on request and records its input.
const stand = `
const { appendFileSync } = require('node:fs');
const [log, mode, ...args] = process.argv.slice(2);
const note = (text) => appendFileSync(log, text + '\\n');
if (args[0] === '--version') { console.log(mode === 'old' ? 'nftables v0.9.8 (E.D.S.)' : 'nftables v1.0.6 (X)'); process.exit(0); }
note('start ' + args.join(' '));
if (args[0] === '-i') {
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    if (line.startsWith('describe')) console.log('meta expression');
    else if (line.includes('bad')) process.stderr.write('Error: Could not process rule: File exists\\n' + line + '\\n');
    else if (line.includes('crash')) process.exit(139);
    else note(line);
  }).on('close', () => process.exit(0));
} else {
  let text = '';
  process.stdin.on('data', (data) => (text += data)).on('end', () => {
    if (mode === 'rights') { process.stderr.write('Operation not permitted (you must be root)'); process.exit(1); }
    if (mode === 'unsupported') { process.stderr.write('Error: Could not process rule: Not supported'); process.exit(1); }
    note('loaded ' + text.length);
    process.exit(0);
  });
}`;

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-nft-'));
  await writeFile(join(folder, 'nft.cjs'), stand);
});
after(() => rm(folder, { recursive: true }));

const program = (log: string, mode = 'works'): ProgramLine => [
  process.execPath,
  join(folder, 'nft.cjs'),
  join(folder, log),
  mode,
];
const noted = async (log: string): Promise<readonly string[]> =>
  (await readFile(join(folder, log), 'utf8')).trim().split('\n');

test('runs small transactions in one process, and large ones in their own', async () => {
  await using nft = new Nft({ program: program('small') });
  await nft.run(['add table ip a', 'add chain ip a b']);
  await nft.run(['add table ip c']);
  await nft.run([]);
  await nft.run(['x'.repeat(300_000)]);
  assert.deepEqual(await noted('small'), [
    'start -i',
    'add table ip a; add chain ip a b',
    'add table ip c',
    'start -f -',
    'loaded 300001',
  ]);
});

test('rejects with the output of nft, and starts a new process', async () => {
  let restarts = 0;
  await using nft = new Nft({ program: program('refuse'), onRestart: () => restarts++ });
  await assert.rejects(nft.run(['bad']), /nft refused a transaction: Error: Could not process rule: File exists bad/);
  await assert.rejects(nft.run(['crash']), /nft ended with 139/);
  await nft.run(['good']);
  assert.equal(restarts, 2);
  assert.deepEqual(await noted('refuse'), ['start -i', 'start -i', 'start -i', 'good']);
});

const refusals: readonly {
  readonly name: string;
  readonly given: () => ProgramLine;
  readonly code: NftablesError['code'];
  readonly message: RegExp;
}[] = [
  {
    name: 'missing',
    given: () => ['no-such-nft-program'],
    code: 'nft-missing',
    message: /no program "no-such-nft-program": install nftables 1\.0\.1 or newer/,
  },
  { name: 'old', given: () => program('old', 'old'), code: 'nft-old', message: /nftables v0\.9\.8.* too old/ },
  {
    name: 'without the rights',
    given: () => program('rights', 'rights'),
    code: 'nft-rights',
    message: /run as root or with CAP_NET_ADMIN/,
  },
  {
    name: 'without the program or the kernel module',
    given: () => program('un', 'unsupported'),
    code: 'nft-unsupported',
    message: /does not support IPv4 rules \(Error: .*Not supported\): use Linux 5\.13/,
  },
];

for (const { name, given, code, message } of refusals) {
  test(`reports nftables ${name}, with the fix`, async () => {
    await assert.rejects(probe(given(), ['IPv4', 'IPv6']), (error: NftablesError) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.match(error.message, /--proxy-mode/);
      return true;
    });
  });
}

test('changes nothing while it probes nftables', async () => {
  await probe(program('works'), ['IPv4', 'IPv6']);
  assert.deepEqual(
    (await noted('works')).filter((line) => line.startsWith('start')),
    ['start -c -f -', 'start -c -f -'],
  );
});
