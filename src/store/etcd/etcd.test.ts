import { after, before, describe } from 'node:test';

import { storeContract } from '../testing/contract.ts';
import { openEtcdStore } from './etcd.ts';
import type { TestEtcd } from './testing/etcd.ts';
import { etcdProgram, startEtcd } from './testing/etcd.ts';

describe('etcd', { skip: etcdProgram === undefined && 'needs etcd on the path' }, () => {
  let etcd: TestEtcd | undefined;
  let count = 0;
  before(async () => (etcd = await startEtcd({ isDurable: false })));
  after(() => etcd?.[Symbol.asyncDispose]());

  storeContract('etcd', async (limits) => ({
    store: await openEtcdStore({ endpoints: etcd?.urls ?? [], prefix: `/test${++count}`, ...limits }),
    prefix: '/registry/test/',
  }));
});
