// Deletion in each mode with kubectl: an owner with two levels of dependents.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { Session } from '../harness/session.ts';
import { parseWords } from '../harness/transcript.ts';

for (const kubectl of await findKubectls()) {
  describe(`garbage collection with kubectl ${kubectl.version}`, () => {
    const stack = new AsyncDisposableStack();
    let session: Session;
    before(async () => {
      const { path } = stack.use(await temporaryDirectory());
      session = stack.use(new Session(path, kubectl.path));
      await session.start(['up', '--cluster', 'one', '--store', 'memory']);
    });
    after(() => stack.disposeAsync());

    const must = async (command: string, input = ''): Promise<string> => {
      const { out, err, code } = await session.kubectl(parseWords(command), { input });
      assert.equal(code, 0, `${command}: ${err}`);
      return out;
    };
    const names = async (): Promise<string> =>
      must(`get configmaps -l made=here -o jsonpath='{.items[*].metadata.name}'`);
    const becomes = async (want: string): Promise<void> => {
      for (const end = performance.now() + 60_000; (await names()) !== want; await delay(20)) {
        assert.ok(performance.now() < end, `"${await names()}" never became "${want}"`);
      }
    };
    /** A ConfigMap, owned by another one if named. */
    const create = async (name: string, owner?: string, more: object = {}): Promise<void> => {
      const uid = owner === undefined ? '' : await must(`get configmap ${owner} -o jsonpath={.metadata.uid}`);
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid, blockOwnerDeletion: true }];
      const metadata = { name, labels: { made: 'here' }, ...(owner === undefined ? {} : { ownerReferences }), ...more };
      await must('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }));
    };
    /** An owner with two levels of dependents, in a namespace of their own. */
    const family = async (namespace: string): Promise<void> => {
      await must(`create namespace ${namespace}`);
      await session.use(namespace);
      await create('a-owner');
      await create('b-owned', 'a-owner');
      await create('c-last', 'b-owned');
    };

    test('in the background deletes the owner at once and its dependents afterwards', async () => {
      await family('background');
      await must('delete configmap a-owner --cascade=background --wait=false');
      await assert.rejects(must('get configmap a-owner'), /NotFound/);
      await becomes('');
    });

    test('in the foreground keeps the owner until its dependents are deleted', async () => {
      await family('foreground');
      await create('d-held', 'a-owner', { finalizers: ['example.org/hold'] });
      await must('delete configmap a-owner --cascade=foreground --wait=false');
      await becomes('a-owner d-held');
      assert.equal(
        await must('get configmap a-owner -o jsonpath={.metadata.finalizers[*]}/{.metadata.deletionTimestamp}'),
        `foregroundDeletion/${await must('get configmap a-owner -o jsonpath={.metadata.deletionTimestamp}')}`,
      );
      await must(`patch configmap d-held --type=merge -p '{"metadata":{"finalizers":null}}'`);
      await becomes('');
    });

    test('orphaning keeps the dependents without an owner', async () => {
      await family('orphan');
      await must('delete configmap a-owner --cascade=orphan');
      assert.equal(await names(), 'b-owned c-last');
      assert.equal(await must('get configmap b-owned -o jsonpath={.metadata.ownerReferences}'), '');
      assert.notEqual(await must('get configmap c-last -o jsonpath={.metadata.ownerReferences}'), '');
    });

    test('deletes an object whose owner no longer exists', async () => {
      await family('late');
      const uid = await must('get configmap a-owner -o jsonpath={.metadata.uid}');
      await must('delete configmap a-owner');
      await becomes('');
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a-owner', uid }];
      const metadata = { name: 'late', labels: { made: 'here' }, ownerReferences };
      await must('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }));
      await becomes('');
    });
  });
}
