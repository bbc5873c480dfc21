// What `npm start` shows works as it says.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';

test(
  'everything that the demo says to try works, again after a restart',
  { skip: unlessInstalled('curl', 'dig') },
  async () => {
    await using directory = await temporaryDirectory();
    for (const start of ['first', 'second']) {
      await using fairlead = await startFairlead(directory.path, ['up', '--demo', '--log-level', 'silent']);
      await fairlead.process.prints(/try\n(?: {4}.*\n)+$/);
      const tries = fairlead.process.out.split('\n').filter((line) => line.startsWith('    '));
      assert.equal(tries.length, 10, fairlead.process.out);
      const answers = new Map<string, Set<string>>();
      for (const line of tries) {
        const [command = '', what = ''] = line.trim().split(/ {2,}/);
        const [program = '', ...args] = command.split(' ');
        const limits = program === 'curl' ? ['-sS', '--max-time', '3', '--noproxy', '*'] : ['+time=2'];
        const found = new Set<string>();
        answers.set(what, found);
        const names = what.startsWith('shop of all') ? 2 : 1;
        await until(`${start} start: ${command}`, async () => {
          const { out, code } = await run(program, [...args, ...limits]);
          if (code === 0 && out !== '') found.add(out.trim().replace(/^shop-\d of /, ''));
          return found.size >= names;
        });
      }
      assert.deepEqual(answers.get('shop of east'), new Set(['east']));
      assert.deepEqual(answers.get('shop of west'), new Set(['west']));
      assert.deepEqual([...(answers.get('shop of all clusters, from west') ?? [])].toSorted(), ['east', 'west']);
      const srv = [...(answers.get('one SRV name, two protocols') ?? [])];
      assert.deepEqual(srv, ['0 100 8088 idm.demo.svc.cluster.local.']);
    }
  },
);
