// The AWS emulator moto: the program that MOTO_SERVER names, or `moto_server` on the PATH (PyPI: moto[server]).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { find } from './needs.ts';

const program = process.env['MOTO_SERVER'] ?? find('moto_server');

/** For `skip`: why moto cannot be started. */
export const withoutMoto = program === undefined && 'moto_server is not on the PATH, nor in MOTO_SERVER';

/** An emulator without resources. */
export interface Moto extends AsyncDisposable {
  readonly endpoint: string;
}

/** Starts moto, and sets credentials, which the SDK requires and moto accepts whatever they are. */
export async function startMoto(): Promise<Moto> {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
  const child = spawn(program ?? assert.fail(), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || !child.kill()) return;
    await once(child, 'exit');
  };
  let endpoint: string | undefined;
  for await (const line of createInterface(child.stderr)) {
    endpoint = /Running on (http:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) break;
  }
  assert.ok(endpoint, 'moto did not start');
  child.stderr.resume();
  return { endpoint, [Symbol.asyncDispose]: stop };
}
