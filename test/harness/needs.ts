import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where Debian installs servers; not on the PATH of every user. */
const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** The path of a program; undefined if it is not installed. */
export const find = (program: string): string | undefined =>
  places.map((place) => join(place, program)).find((file) => isProgram(file));

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * For `skip` of tests that run programs which a machine may lack. In CI nothing is skipped: there a missing program
 * fails the test.
 */
export const unlessInstalled = (...programs: readonly string[]): string | false =>
  unless(programs.filter((program) => find(program) === undefined).map((program) => `${program} is not installed`));

/** For `skip`: the reasons why a test cannot run, if any; in CI they are errors. */
export function unless(reasons: readonly string[]): string | false {
  if (reasons.length === 0) return false;
  if ((process.env['CI'] ?? '') !== '') throw new Error(`this test cannot run here: ${reasons.join(', ')}`);
  return reasons.join(', ');
}
