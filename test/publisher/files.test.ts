// `fairlead publisher --provider file`, and a server that includes the file.
import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { balanced, setIngress, startStand } from './stand.ts';

describe('zone files', { skip: unlessInstalled('named', 'knotd', 'dig') }, () => {
  for (const maker of ['BIND', 'Knot'] as const)
    test(`${maker} answers with the names of a file that it includes`, async () => {
      await using folder = await temporaryDirectory();
      const provider = ['--provider', 'file', '--zone', 'example.org', '--zone-directory', folder.path];
      await using stand = await startStand(maker, { provider });
      const file = join(folder.path, 'example.org.zone');
      await stand.kubectl(['apply', '-f', '-'], balanced('shop', { hostname: 'shop.example.org' }));
      await setIngress(stand, 'shop', '[{"ip":"192.0.2.1"},{"ip":"2001:db8::1"}]');
      assert.match(await stand.plan(), /^create +AAAA +shop\.example\.org +60 +2001:db8::1 +service\/default\/shop$/m);
      await stand.publish();
      await until('the file exists', () =>
        access(file).then(
          () => true,
          () => false,
        ),
      );
      assert.match(await stand.plan(), /^nothing to change$/m);
      await stand.primary.include(file);
      assert.deepEqual(await stand.answers('shop'), ['A 192.0.2.1']);
      assert.deepEqual(await stand.answers('shop', 'AAAA'), ['AAAA 2001:db8::1']);
      assert.deepEqual(await stand.answers('_http._tcp.shop', 'SRV'), ['SRV 0 100 80 shop.example.org.']);
      assert.deepEqual(await stand.answers('a-shop', 'TXT'), [
        'TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/shop"',
      ]);
    });
});
