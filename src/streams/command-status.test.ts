import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { CommandEnd } from './command-status.ts';
import { commandSuccess, exitStatus, internalStatus, parseCommandStatus, statusOf } from './command-status.ts';

const failure = (fields: object): string => JSON.stringify({ status: 'Failure', ...fields });
const causes = (message: string): object => ({
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message }] },
});

const table: readonly { readonly text: string; readonly want: CommandEnd | RegExp }[] = [
  { text: '', want: { exitCode: 0 } },
  { text: JSON.stringify(commandSuccess), want: { exitCode: 0 } },
  { text: JSON.stringify(exitStatus(3)), want: { exitCode: 3 } },
  { text: failure(causes('255')), want: { exitCode: 255 } },
  { text: failure(causes('256')), want: /invalid exit code value "256"/ },
  { text: failure(causes('x')), want: /invalid exit code value "x"/ },
  { text: failure({ reason: 'NonZeroExitCode' }), want: /no ExitCode cause given/ },
  { text: failure({ reason: 'NonZeroExitCode', details: { causes: 7 } }), want: /no ExitCode cause given/ },
  { text: failure({ message: 'no such container' }), want: { problem: 'no such container' } },
  { text: JSON.stringify(internalStatus('it broke')), want: { problem: 'it broke' } },
  { text: '{"status":"?"}', want: /unknown error/ },
  { text: 'null', want: /unknown error/ },
  { text: 'no JSON', want: /error stream protocol error: .*no JSON/ },
];
for (const { text, want } of table) {
  test(`the end of a command in ${text === '' ? 'an empty stream' : text}`, () => {
    const end = parseCommandStatus(text);
    if (want instanceof RegExp) assert.match('problem' in end ? end.problem : '', want);
    else assert.deepEqual(end, want);
  });
}

test('the status of a command is the one that kubectl reads', () => {
  assert.deepEqual(statusOf({ exitCode: 0 }), { metadata: {}, status: 'Success' });
  assert.deepEqual(statusOf({ exitCode: 3 }).details, { causes: [{ reason: 'ExitCode', message: '3' }] });
  assert.equal(statusOf({ problem: 'it broke' }).message, 'Internal error occurred: it broke');
});
