// Environment, volumes and tokens of Pods on a machine, seen through kubectl.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { isReady, podObject, processContainer, Stand } from './stand.ts';

describe('configuration', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start();
  });
  after(() => stand[Symbol.asyncDispose]());

  const logOf = async (pod: string, container = 'c'): Promise<string> => {
    const uid = (await stand.pod(pod))?.metadata.uid ?? '';
    const log = await readFile(`${stand.state}/pods/${uid}/logs/${container}/0.log`, 'utf8').catch(() => '');
    return log.replaceAll(/^\S+ stdout F /gm, '');
  };

  test('a container waits for its ConfigMap, and then has its values', async () => {
    const env = [{ name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } }];
    const envFrom = [{ secretRef: { name: 'login', optional: true } }];
    const container = processContainer('c', ['sh', '-c', 'echo $COLOR $POD_NAME; sleep 1000'], { env, envFrom });
    await stand.create(podObject('values', { containers: [container] }));
    const { status } = await stand.podUntil(
      'values',
      'waits',
      (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.equal(status.phase, 'Pending');
    assert.match(status.containerStatuses?.[0]?.state.waiting?.message ?? '', /configmap "settings" not found/);
    await stand.must('create', 'configmap', 'settings', '--from-literal=color=green');
    await stand.podUntil('values', 'is ready', isReady);
    await until('the value is printed', async () => (await logOf('values')) === 'green values\n');
    await stand.must('delete', 'pod', 'values');
  });

  test('volumes are directories that follow their sources', async () => {
    await stand.must('create', 'configmap', 'files', '--from-literal=a.txt=one');
    await stand.must('create', 'secret', 'generic', 'keys', '--from-literal=key=secret');
    const script = `
      cat $VOLUME_FILES/a.txt $VOLUME_ALL/sub/key $VOLUME_ALL/labels; echo; echo x > $VOLUME_SCRATCH/x
      while sleep 0.1; do grep -q two $VOLUME_FILES/a.txt && echo changed && break; done; sleep 1000`;
    const volumes = [
      { name: 'files', configMap: { name: 'files' } },
      { name: 'scratch', emptyDir: {} },
      {
        name: 'all',
        projected: {
          sources: [
            { secret: { name: 'keys', items: [{ key: 'key', path: 'sub/key' }] } },
            { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          ],
        },
      },
    ];
    const spec = { containers: [processContainer('c', ['sh', '-c', script])], volumes };
    await stand.create(podObject('mounts', spec, { labels: { app: 'x' } }));
    await stand.podUntil('mounts', 'is ready', isReady);
    await until('files are printed', async () => (await logOf('mounts')) === 'onesecretapp="x"\n');
    await stand.must('patch', 'configmap', 'files', '-p', '{"data":{"a.txt":"two"}}');
    await until('the change is seen', async () => (await logOf('mounts')).endsWith('changed\n'));
    await stand.must('delete', 'pod', 'mounts');
  });

  test('a Pod has a token of its service account, which the server accepts as that Pod', async () => {
    await stand.must('create', 'serviceaccount', 'robot');
    const script = 'ls $VOLUME_TOKEN; sleep 1000';
    const volumes = [
      {
        name: 'token',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
            { configMap: { name: 'kube-root-ca.crt' } },
          ],
        },
      },
    ];
    const containers = [processContainer('c', ['sh', '-c', script])];
    await stand.create(podObject('robot', { containers, volumes, serviceAccountName: 'robot' }));
    const pod = await stand.podUntil('robot', 'is ready', isReady);
    const token = await readFile(`${stand.state}/pods/${pod.metadata.uid}/volumes/token/token`, 'utf8');
    const who = await stand.must('--token', token, 'auth', 'whoami', '-o', 'json');
    assert.match(who, /system:serviceaccount:default:robot|kubernetes-admin/);
    await until('the files are listed', async () => (await logOf('robot')) === 'ca.crt\ntoken\n');
    await stand.must('delete', 'pod', 'robot');
  });

  test('a volume that cannot be set up is reported, and hostPath needs a flag', async () => {
    const spec = (volume: object): object => ({
      containers: [processContainer('c', ['sleep', '1000'])],
      volumes: [volume],
    });
    await stand.create(
      podObject('no-secret', spec({ name: 'v', secret: { secretName: 'absent' } })),
      podObject('host', spec({ name: 'v', hostPath: { path: '/' } })),
    );
    await until('both are reported', async () => {
      const events = await stand.must('get', 'events');
      return (
        events.includes('MountVolume.SetUp failed for volume "v" : secret "absent" not found') &&
        events.includes('hostPath volumes are not allowed on this machine')
      );
    });
    assert.equal((await stand.pod('no-secret'))?.status.phase, 'Pending');
    await stand.must('create', 'secret', 'generic', 'absent');
    await stand.podUntil('no-secret', 'is ready', isReady);
    await stand.must('delete', 'pod', 'no-secret', 'host');
  });

  test(
    'a process has the supplementary groups of its Pod',
    { skip: process.getuid?.() !== 0 && 'root must switch users' },
    async () => {
      const securityContext = { runAsUser: 1234, supplementalGroups: [4000], fsGroup: 5000 };
      const container = processContainer('c', [
        'sh',
        '-c',
        'id -u; id -G; touch $VOLUME_DATA/x; stat -c %g $VOLUME_DATA/x; sleep 1000',
      ]);
      const volumes = [{ name: 'data', emptyDir: {} }];
      await stand.create(podObject('groups', { securityContext, volumes, containers: [container] }));
      await until('they are printed', async () => (await logOf('groups')) === '1234\n1234 4000 5000\n5000\n');
      await stand.must('delete', 'pod', 'groups');
    },
  );
});
