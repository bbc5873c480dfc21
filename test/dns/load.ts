import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { run } from '../harness/command.ts';
import type { Place } from './clients.ts';

/** The counts of dnsperf. */
export interface Load {
  readonly sent: number;
  readonly lost: number;
  /** Code → share of the replies in percent. */
  readonly codes: Readonly<Record<string, number>>;
}

export interface LoadOptions {
  readonly questions: readonly string[];
  readonly seconds: number;
  readonly perSecond: number;
  readonly protocol?: 'udp' | 'tcp';
}

/** Sends queries at a constant rate and counts the replies. */
export async function load({ address, port }: Place, options: LoadOptions): Promise<Load> {
  const { questions, seconds, perSecond, protocol = 'udp' } = options;
  await using folder = await temporaryDirectory();
  const file = join(folder.path, 'questions');
  await writeFile(file, `${questions.join('\n')}\n`);
  const place = ['-s', address, '-p', String(port), '-m', protocol];
  const rate = ['-l', String(seconds), '-Q', String(perSecond), '-c', '8', '-t', '10'];
  const { out, err, code } = await run('dnsperf', [...place, ...rate, '-d', file]);
  assert.equal(code, 0, `${out}${err}`);
  const number = (pattern: RegExp): number => Number(pattern.exec(out)?.[1] ?? Number.NaN);
  const codes = Array.from(out.matchAll(/([A-Z]+) \d+ \(([\d.]+)%\)/g), ([, name = '', share]) => [
    name,
    Number(share),
  ]);
  return {
    sent: number(/Queries sent:\s+(\d+)/),
    lost: number(/Queries lost:\s+(\d+)/),
    codes: Object.fromEntries(codes) as Load['codes'],
  };
}
