import assert from 'node:assert/strict';
import { test } from 'node:test';

import { definition } from '../hostile/work/custom-kinds.ts';
import { countRules } from './rules.ts';
import { objects, widgets } from './samples.ts';

const unreached = ({ rules }: ReturnType<typeof countRules>): string[] =>
  rules.filter(({ evaluations }) => evaluations === 0).map(({ name }) => name);

test('the objects that are compared with kube-apiserver evaluate every rule of their kind', () => {
  const counted = countRules(widgets);
  assert.equal(counted.rules.length, 2);
  assert.equal(unreached(counted).length, 2, 'nothing is evaluated yet');
  for (const [, object] of objects) counted.evaluate(object);
  assert.deepEqual(unreached(counted), []);
});

test('a sample for each rule evaluates it, in lists and maps too', () => {
  const counted = countRules(definition);
  assert.ok(counted.rules.length >= 9);
  for (const rule of counted.rules) {
    assert.ok(counted.evaluate(rule.sample), rule.name);
    assert.ok(rule.evaluations > 0, rule.name);
  }
  assert.ok(counted.rules.some(({ isTransition }) => isTransition));
});
