// The systemd units, checked by systemd's own tools.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { commands } from '../../src/cli/commands.ts';
import { partNames } from '../../src/cli/parts.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { root } from '../harness/process.ts';

const units = join(root, 'deploy', 'systemd');
/** The highest exposure that `systemd-analyze security` may report, in tenths. */
const maxExposure = 20;

describe('the systemd units', { skip: unlessInstalled('systemd-analyze') }, () => {
  const stack = new AsyncDisposableStack();
  let directory = '';
  /** Runs systemd-analyze on a unit, with the drop-in that all units share. */
  const analyze = (part: string, ...words: readonly string[]): Promise<Result> =>
    run('systemd-analyze', [...words, join(directory, `fairlead-${part}.service`)], {
      env: { SYSTEMD_UNIT_PATH: `${directory}:` },
    });

  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    await cp(units, directory, { recursive: true });
    // The program is installed in /usr/local/bin or /usr/bin, where systemd searches for it.
    for (const part of partNames) {
      const file = join(directory, `fairlead-${part}.service`);
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('ExecStart=fairlead ', `ExecStart=${join(root, 'bin', 'fairlead.js')} `));
    }
  });
  after(() => stack.disposeAsync());

  test('there is one for each part', () => {
    const files = readdirSync(units).filter((file) => file.endsWith('.service'));
    assert.deepEqual(files.toSorted(), partNames.map((part) => `fairlead-${part}.service`).toSorted());
  });

  for (const part of partNames) {
    test(`that of ${part} is valid, starts it with existing flags, and has a low exposure level`, async () => {
      const { code, err } = await analyze(part, 'verify');
      const problems = err.split('\n').filter((line) => line.includes('fairlead')); // it reads other units too
      assert.deepEqual({ code, problems }, { code: 0, problems: [] });
      const security = await analyze(part, 'security', '--offline=true', `--threshold=${maxExposure}`);
      assert.equal(security.code, 0, security.out);
      const text = await readFile(join(units, `fairlead-${part}.service`), 'utf8');
      const [, command, flags = ''] = /^ExecStart=fairlead (\S+)(.*)$/m.exec(text) ?? [];
      assert.equal(command, part);
      const known = (await commands[part]?.load())?.flags.map(({ name }) => `--${name}`);
      assert.deepEqual(new Set(flags.match(/--\S+/g)).difference(new Set(known)), new Set());
    });
  }
});
