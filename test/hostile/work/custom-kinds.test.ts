import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../../../src/server/testing/server.ts';
import { WorkCounter } from './counter.ts';
import { customFields, longDefinitions } from './custom-kinds.ts';
import type { LongField } from './fields.ts';
import { definitions, excessOf, growthProblems, sizes } from './growth.ts';

const counter = new WorkCounter();

// Fields with rules are handled in a way of their own each.
const fields = new Map<string, LongField>();
for (const field of customFields()) {
  const [, name = ''] = field.path;
  const key = `${field.treatment}${String(name).startsWith('ruled') ? ` with rules: ${field.path.join('.')}` : ''}`;
  if (!fields.has(key)) fields.set(key, field);
}

suite('the work of a write of a custom resource is linear in', () => {
  for (const [treatment, field] of fields) {
    test(`a ${treatment}: ${field.path.join('.')}`, async () => {
      assert.deepEqual(await growthProblems(field, counter), []);
    });
  }
});

suite('the work of a definition, valid or not, is linear in its', () => {
  for (const [name, make] of Object.entries(longDefinitions)) {
    test(name, async () => {
      await using server = await testServer();
      const workOf = (count: number): ReturnType<WorkCounter['count']> => {
        const body = Buffer.from(JSON.stringify(make(count)));
        return counter.count(() => server.ask('POST', `${definitions}?dryRun=All`, { body }));
      };
      await workOf(20); // warms up the compiler
      const excess = async (): Promise<string[]> => excessOf(await workOf(sizes[0]), await workOf(sizes[1]));
      const problems = await excess();
      // The server also has background work: growth counts only if it repeats.
      assert.deepEqual(problems.length === 0 ? problems : await excess(), []);
    });
  }
});
