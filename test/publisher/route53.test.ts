// `fairlead publisher --provider route53` with a stand-in of Route 53.
import { test } from 'node:test';

import { StandIn } from '../../src/publisher/providers/route53/testing/stand-in.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { testRoute53 } from './route53.ts';

test('SRV-10 `fairlead publisher` writes to a hosted zone', { skip: unlessInstalled('named', 'dig') }, async () => {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
  await using standIn = await StandIn.start();
  await testRoute53(standIn.endpoint, async () =>
    [...standIn.sets.values()].map(({ name, type, values }) => `${name} ${type} ${values.join(', ')}`),
  );
});
