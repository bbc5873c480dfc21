// Compares the documentation with the code.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Registry } from 'prom-client';

import { ec2Actions } from './providers/aws/ec2.ts';
import { elbActions } from './providers/aws/connect.ts';
import { knownAnnotations } from './providers/aws/settings.ts';
import { serviceControllerMetrics } from './controller/metrics.ts';
import { faultReasons } from './clouds/fault.ts';
import { clouds } from './clouds/clouds.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8');

test('documents every error code of ports', () => {
  const page = read('../../docs/reference/load-balancers.md');
  assert.deepEqual(
    faultReasons.filter((word) => !page.includes(`/${word}\``)),
    [],
  );
});

test('documents every metric', () => {
  const registry = new Registry();
  serviceControllerMetrics(registry);
  const page = read('README.md');
  const names = [...registry.getMetricsAsArray().map(({ name }) => name), 'leader_election_master_status'];
  assert.equal(names.length, 5);
  assert.deepEqual(
    names.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});

test('names of clouds and products are lower-case words', () => {
  for (const { name, products } of clouds)
    for (const kind of products) assert.match(`${name}/${kind.name}`, /^[a-z0-9/-]+$/);
});

test('documents every AWS action and annotation', () => {
  const page = read('../../docs/reference/load-balancers.md');
  assert.deepEqual(
    [...elbActions, ...ec2Actions].filter((action) => !new RegExp(`^(.* )?${action}( .*)?$`, 'm').test(page)),
    [],
  );
  const words = knownAnnotations.map((word) => word.replace(/^healthcheck(?=-(?!protocol))/, ''));
  assert.deepEqual(
    words.filter((word) => !new RegExp(`\`${word}[:\`]`).test(page)),
    [],
  );
});
