// A golden file of all products × some sets of ports × eras, so that changes of rules are visible in review.
import { readFileSync, writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { serviceWith } from '../testing/service.ts';
import { eras } from './product.ts';
import { clouds } from './clouds.ts';
import type { Plan } from './plan.ts';
import { productsOf, plan } from './plan.ts';
import { unitsOf } from './resource.ts';

const page = join(import.meta.dirname, 'matrix.txt');
const portSets = ['80/TCP', '80/TCP 81/UDP', '53/TCP 53/UDP', '53/UDP', '9000/SCTP', '53/TCP 53/UDP 443/TCP'];

/** The units and resources, or the fault of each port. */
function lineOf({ refusal, resources, ports }: Plan): string {
  if (refusal !== undefined) return `refused: ${ports.map(({ fault }) => fault?.code.replace(/^.*\//, '')).join(', ')}`;
  const units = unitsOf(resources).map(({ id }) => id);
  return `${units.join(' ')} (${resources.map(({ type }) => type).join(' ')})`;
}

test('LB-22 the plans of all products match matrix.txt', () => {
  const lines = eras.flatMap((era) =>
    clouds.flatMap((cloud) =>
      productsOf(cloud, era).flatMap(({ name: product }) =>
        portSets.map((ports) => {
          const planned = plan(cloud, { service: serviceWith(ports), era, product, isMixingAllowed: true });
          return `${era} ${cloud.name}/${product} ${ports} → ${lineOf(planned)}`;
        }),
      ),
    ),
  );
  const text = `${lines.join('\n')}\n`;
  // WRITE_MATRIX=1 updates the file.
  if (process.env['WRITE_MATRIX'] === '1') writeFileSync(page, text);
  assert.equal(text, readFileSync(page, 'utf8'));
});
