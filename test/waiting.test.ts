// Commands of kubectl that wait: a second command causes the awaited change meanwhile.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { temporaryDirectory } from './harness/fairlead.ts';
import { findKubectls, isSince } from './harness/kubectl.ts';
import { Session } from './harness/session.ts';
import { parseWords } from './harness/transcript.ts';

for (const kubectl of await findKubectls()) {
  describe(`waiting with kubectl ${kubectl.version}`, () => {
    const stack = new AsyncDisposableStack();
    let session: Session;
    before(async () => {
      const { path } = stack.use(await temporaryDirectory());
      session = stack.use(new Session(path, kubectl.path));
      await session.start(['server']);
    });
    after(() => stack.disposeAsync());

    const must = async (command: string): Promise<string> => {
      const { out, err, code } = await session.kubectl(parseWords(command));
      assert.equal(code, 0, `${command}: ${err}`);
      return out;
    };

    test('get -w prints every change', async () => {
      await must('create service clusterip seen --tcp=80');
      using watch = session.startKubectl(parseWords('get svc seen -w --output-watch-events --no-headers'));
      await watch.prints(/^ADDED +seen +ClusterIP/m);
      await must('label svc seen a=b');
      await watch.prints(/^MODIFIED +seen +ClusterIP/m);
      await must(`patch svc seen -p '{"spec":{"type":"NodePort"}}'`);
      await watch.prints(/^MODIFIED +seen +NodePort/m);
      await must('delete svc seen');
      await watch.prints(/^DELETED +seen +NodePort/m);
      assert.deepEqual(
        watch.printed.split('\n').map((line) => line.split(' ', 1)[0]),
        ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED', ''],
      );
    });

    test('get -w -l prints objects that start or stop matching', async () => {
      await must('create configmap flips');
      using watch = session.startKubectl(parseWords('get cm -l shown=yes -w --output-watch-events --no-headers'));
      // No object matches yet, so nothing shows that the watch has started: repeat until it has.
      for (let count = 0; !watch.printed.includes('ADDED'); count++) {
        assert.ok(count < 100, 'the watch never began');
        await must('label cm flips shown=no --overwrite');
        await must('label cm flips shown=yes --overwrite');
      }
      await must('label cm flips shown=no --overwrite');
      await watch.prints(/^DELETED +flips/m);
    });

    test('delete waits until the finalizer is removed', async () => {
      await must('create configmap held');
      await must(`patch cm held --type=merge -p '{"metadata":{"finalizers":["example.org/hold"]}}'`);
      using deletion = session.startKubectl(['delete', 'cm', 'held']);
      await deletion.prints(/configmap "held" deleted/);
      assert.match(await must('get cm held -o jsonpath={.metadata.deletionTimestamp}'), /^\d{4}-/);
      await must(`patch cm held --type=merge -p '{"metadata":{"finalizers":null}}'`);
      assert.equal((await deletion.ended).code, 0);
    });

    test('wait --for=jsonpath ends when the field has the value', async () => {
      await must('create configmap waited --from-literal=a=1');
      using wait = session.startKubectl(parseWords('wait cm/waited --for=jsonpath={.data.a}=2 --timeout=30s'));
      await must(`patch cm waited --type=merge -p '{"data":{"a":"2"}}'`);
      const { out, code } = await wait.ended;
      assert.deepEqual({ out, code }, { out: 'configmap/waited condition met\n', code: 0 });
    });

    const isOld = !isSince(kubectl.version, '1.31');
    test('wait --for=create ends when the object is created', { skip: isOld && 'since kubectl 1.31' }, async () => {
      using wait = session.startKubectl(parseWords('wait cm/born --for=create --timeout=30s'));
      await must('create configmap born');
      const { out, code } = await wait.ended;
      assert.deepEqual({ out, code }, { out: 'configmap/born condition met\n', code: 0 });
    });

    test('no acknowledged write is lost when the process is killed', async () => {
      await must('create configmap kept --from-literal=a=1');
      const revision = await must('get cm kept -o jsonpath={.metadata.resourceVersion}');
      using watch = session.startKubectl(parseWords('get cm kept -w --no-headers'));
      await watch.prints(/^kept /m);
      await session.start(['server'], 'SIGKILL');
      await watch.ended; // kubectl does not reconnect
      assert.equal(await must('get cm kept -o jsonpath={.metadata.resourceVersion}'), revision);
      await must('label cm kept a=b');
      const now = await must('get cm kept -o jsonpath={.metadata.resourceVersion}');
      assert.ok(Number(now) > Number(revision));
    });
  });
}
