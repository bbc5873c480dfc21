import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Work } from './counter.ts';
import { WorkCounter } from './counter.ts';
import { decoderInputs } from './decoders.ts';

const counter = new WorkCounter();

/** The work of a decoder; rejecting an input is work as well. */
const workOf = (read: () => unknown): Promise<Work> =>
  counter.count(async () => {
    try {
      read();
    } catch {
      // Which inputs are rejected is tested elsewhere.
    }
  });

suite('eight times the input is less than sixteen times the work', () => {
  for (const [name, make] of Object.entries(decoderInputs)) {
    test(name, async () => {
      await workOf(make(1).read); // initializes what is created once, such as the readers of a schema
      const [few, many] = [make(1000), make(8000)];
      const [small, large] = [await workOf(few.read), await workOf(many.read)];
      const most = 2 * (many.length / few.length);
      for (const unit of ['blocks', 'builtins', 'bytes'] as const) {
        const least = unit === 'bytes' ? 100_000 : 1000; // the counter itself allocates some
        assert.ok(large[unit] < most * Math.max(small[unit], least), `${small[unit]} ${unit} grew to ${large[unit]}`);
      }
    });
  }
});
