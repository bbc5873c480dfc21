import assert from 'node:assert/strict';
import { test } from 'node:test';

import { committed } from '../testing/open.ts';
import { EtcdClient } from './client.ts';
import { openEtcdStore } from './etcd.ts';
import { bytesOfText, range, txn } from './messages.ts';
import { etcdProgram, startEtcd } from './testing/etcd.ts';

/** What servers of format 1 write. A later release must read it, or migrate it. */
const records: readonly (readonly [key: string, value: string])[] = [
  ['/east/fairlead/owner', '{"format":1,"cluster":"east","authorities":["A"]}'],
  ['/east/fairlead/epoch', '{"positions":128,"offset":5000000}'],
  ['/east/fairlead/positions/3', ''],
  ['/east/services/specs/shop/first', '{"metadata":{"name":"first"}}'],
  ['/east/services/specs/shop/fifth', '{"metadata":{"name":"fifth"}}\n\t \t    \n'],
  ['/east/configmaps/shop/text', '{"data":{"size":"größe 😀"}}\n      \t\n'],
];

test('a prefix of format 1 is read', { skip: etcdProgram === undefined && 'needs etcd on the path' }, async () => {
  await using etcd = await startEtcd({ isDurable: false });
  using client = new EtcdClient({ endpoints: etcd.urls });
  const success = records.map(([key, value]) => ({ type: 'put', key, value: bytesOfText(value) }) as const);
  const { header } = await client.call(txn, { compare: [], success });
  const owner = { name: 'east', authorities: ['A'], isAdopting: false };
  await using store = await openEtcdStore({ endpoints: etcd.urls, prefix: '/east', owner });
  const at = 5_000_000 + header.revision * 128;
  assert.deepEqual(
    (await store.range('')).entries.map(({ key, value, revision }) => [key, value, revision]),
    [
      ['/registry/configmaps/shop/text', '{"data":{"size":"größe 😀"}}', at + 64],
      ['/registry/services/shop/fifth', '{"metadata":{"name":"fifth"}}', at + 5],
      ['/registry/services/shop/first', '{"metadata":{"name":"first"}}', at],
    ],
  );
  await committed(store, { key: '/registry/services/shop/fifth', value: '{}', expect: at + 5 });
  const { kvs } = await client.call(range, { key: '/east/services/specs/shop/fifth' });
  assert.equal(Buffer.from(kvs[0]?.value ?? []).toString(), '{}');
});
