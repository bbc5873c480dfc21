import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LogOutput } from './log-output.ts';

/** A pipe with limited room, until it is closed. */
function pipe(room: number): {
  written: string;
  room: number;
  error: string | undefined;
  write: (bytes: Buffer) => number;
} {
  return {
    written: '',
    room,
    error: undefined,
    write(bytes) {
      const code = this.error ?? (this.room === 0 ? 'EAGAIN' : undefined);
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      const count = Math.min(this.room, bytes.length);
      this.room -= count;
      this.written += bytes.toString('latin1', 0, count);
      return count;
    },
  };
}

test('writes a line at once', () => {
  const to = pipe(100);
  new LogOutput((bytes) => to.write(bytes)).write('one\n');
  assert.equal(to.written, 'one\n');
});

test('keeps lines for a full pipe in order, with the rest of a partly written line', () => {
  const to = pipe(6);
  const output = new LogOutput((bytes) => to.write(bytes));
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
  assert.equal(to.written, 'one\ntw');
  to.room = 100;
  output.flush();
  assert.equal(to.written, 'one\ntwo\nthree\n');
  assert.equal(output.dropped, 0);
});

test('drops and counts the lines that do not fit into its buffer', () => {
  const to = pipe(0);
  const output = new LogOutput((bytes) => to.write(bytes));
  const line = `${'x'.repeat(1023)}\n`;
  for (let index = 0; index < 3000; index++) output.write(line);
  assert.equal(output.dropped, 3000 - 1024);
  to.room = Number.MAX_SAFE_INTEGER;
  output.flush();
  output.write('after\n');
  assert.equal(to.written, `${line.repeat(1024)}after\n`);
});

for (const code of ['EPIPE', 'ENOSPC', 'EIO']) {
  test(`drops and counts lines while writes fail with ${code}, and resumes afterwards`, () => {
    const to = pipe(100);
    to.error = code;
    const output = new LogOutput((bytes) => to.write(bytes));
    output.write('one\n');
    output.write('two\n');
    assert.equal(output.dropped, 2);
    to.error = undefined;
    output.write('three\n');
    assert.equal(to.written, 'three\n');
  });
}
