// A kube-apiserver and a server of ours over one prefix of etcd, at once and one after the other.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Transport } from '../../src/client/transport.ts';
import { aliceRequest } from '../../src/api/kinds/certificates/certificatesigningrequest/testing/requests.ts';
import { kinds } from '../../src/api/kinds/registry.ts';
import { until } from '../../src/server/testing/until.ts';
import type { TestEtcd } from '../../src/store/etcd/testing/etcd.ts';
import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import { mustRun } from '../store/backups.ts';
import { callEtcd } from './gateway.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

const services = '/api/v1/namespaces/default/services';
const maps = '/api/v1/namespaces/default/configmaps';
const range = ['--service-cluster-ip-range', '10.0.0.0/16'];

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}

async function ask(
  server: Transport,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
): Promise<Answer> {
  const [pathname = '', query = ''] = path.split('?');
  const response = await server.request({
    method,
    path: pathname,
    query: Object.fromEntries(new URLSearchParams(query)),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: response.body.startsWith('{') ? JSON.parse(response.body) : response.body };
}

async function must(...call: Parameters<typeof ask>): Promise<Answer['body']> {
  const { status, body } = await ask(...call);
  assert.ok(status < 300, `${call[1]} ${call[2]}: ${JSON.stringify(body)}`);
  return body;
}

const signingRequest = {
  request: Buffer.from(aliceRequest).toString('base64'),
  signerName: 'example.org/signer',
  usages: ['client auth'],
};

/** Objects of many kinds, as kubectl sends them. */
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } };
const workload = { selector: { matchLabels: { a: 'b' } }, template };
const objects: readonly (readonly [path: string, name: string, content: object])[] = [
  [
    '/api/v1/namespaces/default/services',
    'web',
    { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30123 }] } },
  ],
  ['/api/v1/namespaces/default/services', 'alias', { spec: { type: 'ExternalName', externalName: 'a.example.org' } }],
  ['/api/v1/namespaces/default/configmaps', 'map', { data: { size: 'größe' }, binaryData: { b: 'AAH/' } }],
  ['/api/v1/namespaces/default/secrets', 'secret', { stringData: { password: 'x' } }],
  ['/api/v1/namespaces/default/serviceaccounts', 'account', {}],
  [
    '/api/v1/namespaces/default/endpoints',
    'web',
    { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }] },
  ],
  ['/api/v1/namespaces/default/pods', 'pod', { spec: template.spec }],
  ['/api/v1/nodes', 'node', { status: { capacity: { cpu: '4', memory: '16Gi' } } }],
  ['/api/v1/namespaces/default/resourcequotas', 'quota', { spec: { hard: { pods: '10' } } }],
  [
    '/api/v1/namespaces/default/limitranges',
    'range',
    { spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } },
  ],
  ['/apis/apps/v1/namespaces/default/deployments', 'deployment', { spec: workload }],
  ['/apis/apps/v1/namespaces/default/statefulsets', 'set', { spec: { serviceName: 'web', ...workload } }],
  ['/apis/apps/v1/namespaces/default/daemonsets', 'daemons', { spec: workload }],
  [
    '/apis/batch/v1/namespaces/default/jobs',
    'job',
    { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
  ],
  ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', 'budget', { spec: { minAvailable: '50%' } }],
  ['/apis/storage.k8s.io/v1/storageclasses', 'class', { provisioner: 'example.org/x' }],
  ['/apis/scheduling.k8s.io/v1/priorityclasses', 'high', { value: 10 }],
  [
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    'lease',
    { spec: { renewTime: '2026-01-01T00:00:00.123456Z' } },
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles',
    'role',
    { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
    'binding',
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'role' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' }],
    },
  ],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    'slice',
    {
      addressType: 'IPv4',
      ports: [{ name: '', port: 80 }],
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
    },
  ],
  ['/api/v1/namespaces/default/podtemplates', 'template', { template }],
  ['/api/v1/namespaces/default/replicationcontrollers', 'controller', { spec: { selector: { a: 'b' }, template } }],
  [
    '/api/v1/persistentvolumes',
    'volume',
    { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } } },
  ],
  [
    '/api/v1/namespaces/default/persistentvolumeclaims',
    'claim',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  ],
  ['/apis/apps/v1/namespaces/default/replicasets', 'replicas', { spec: workload }],
  ['/apis/apps/v1/namespaces/default/controllerrevisions', 'history', { revision: 1, data: { any: ['thing'] } }],
  [
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    'scaler',
    { spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'deployment' } } },
  ],
  [
    '/apis/batch/v1/namespaces/default/cronjobs',
    'nightly',
    {
      spec: {
        schedule: '0 3 * * *',
        jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
      },
    },
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    'everywhere',
    { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    'everywhere',
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'everywhere' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' }],
    },
  ],
  ['/apis/node.k8s.io/v1/runtimeclasses', 'runtime', { handler: 'runc' }],
  [
    '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    'entry',
    { spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } },
  ],
  [
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    'shops.example.org',
    {
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { plural: 'shops', kind: 'Shop' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
          },
        ],
      },
    },
  ],
  ['/apis/example.org/v1/namespaces/default/shops', 'corner', { apiVersion: 'example.org/v1', kind: 'Shop', spec: {} }],
  ['/apis/certificates.k8s.io/v1/certificatesigningrequests', 'request', { spec: signingRequest }],
  ['/apis/networking.k8s.io/v1/ingressclasses', 'ingress', { spec: { controller: 'example.org/x' } }],
  ['/apis/networking.k8s.io/v1/namespaces/default/networkpolicies', 'policy', { spec: { podSelector: {} } }],
  [
    '/api/v1/namespaces/default/events',
    'event',
    {
      involvedObject: { kind: 'Pod', name: 'pod', namespace: 'default' },
      reason: 'Test',
      lastTimestamp: '2026-01-01T00:00:00Z',
    },
  ],
];

const encryptionConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - aesgcm: { keys: [{ name: key1, secret: ${Buffer.alloc(32, 7).toString('base64')} }] }
`;

describe('a kube-apiserver over the same etcd', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let etcd: TestEtcd;
  let url = '';
  let folder = '';
  let upstream: KubeApiserver;
  let ours: Fairlead;
  let theirs: Transport;
  let own: Transport;
  before(async () => {
    etcd = stack.use(await startEtcd({ isDurable: false }));
    [url = ''] = etcd.urls;
    folder = stack.use(await temporaryDirectory()).path;
    await writeFile(join(folder, 'encryption.yaml'), encryptionConfiguration);
    await startUpstream();
    for (const [path, name, content] of objects) {
      const object = { metadata: { name }, ...content };
      // A custom resource is served soon after its definition.
      await until(path, async () => (await ask(theirs, 'GET', path)).status === 200);
      await must(theirs, 'POST', path, object);
    }
  });
  after(() => stack.disposeAsync());

  /** Secrets are encrypted by both. */
  const encryption = (): Readonly<Record<string, string>> => ({
    'encryption-provider-config': join(folder, 'encryption.yaml'),
  });
  const encrypts = (): readonly string[] => ['--encryption-provider-config', join(folder, 'encryption.yaml')];
  const startUpstream = async (): Promise<void> => {
    upstream = stack.use(
      await KubeApiserver.start(folder, programs ?? assert.fail(), { 'etcd-servers': url, ...encryption() }),
    );
    theirs = stack.use(overHttps(await readKubeconfig({ paths: [await upstream.kubeconfig('admin')] })));
    await until('kube-apiserver is ready', async () =>
      ask(theirs, 'GET', '/readyz').then(
        ({ body }) => body === 'ok',
        () => false,
      ),
    );
  };
  const startOwn = async (directory: string, flags: readonly string[]): Promise<void> => {
    ours = stack.use(await startFairlead(join(folder, directory), ['server', ...range, ...encrypts(), ...flags]));
    own = stack.use(overHttps(await readKubeconfig({ paths: [ours.kubeconfig] })));
  };
  /** The objects of a kind that both serve, except those that each server writes for itself. */
  const list = async (server: Transport, path: string): Promise<readonly unknown[]> => {
    const { items } = await must(server, 'GET', path);
    return (items as readonly { readonly metadata: { readonly name: string } }[]).filter(
      ({ metadata }) =>
        !/^(?:kubernetes|kubernetes-\d|kube-root-ca\.crt|default|apiserver-.*|fairlead:.*|system:.*|cluster-admin|admin|edit|view)$/.test(
          metadata.name,
        ),
    );
  };
  const sameLists = async (): Promise<void> => {
    for (const path of new Set(objects.map(([each]) => each))) {
      assert.deepEqual(await list(own, path), await list(theirs, path), path);
    }
  };

  test('has objects that are copied to SQLite, with all claims of their Services', async () => {
    const directory = join(folder, 'copied');
    const announced = async (): Promise<boolean> =>
      mustRun('backup', join(folder, 'x.backup'), '--from', `etcd:${url}`, '--cluster', 'fairlead', '--overwrite').then(
        () => true,
        () => false,
      );
    assert.ok(await announced());
    await mustRun('restore', join(folder, 'x.backup'), '--data-dir', directory);
    await mustRun('check', '--data-dir', directory);
    await startOwn('copied', []);
    const port = { type: 'NodePort', ports: [{ port: 80, nodePort: 30123 }] };
    const { body } = await ask(own, 'POST', services, { metadata: { name: 'thief' }, spec: port });
    assert.match(body.message, /provided port is already allocated/);
    // The status of a quota is written at once.
    for (const path of new Set(objects.map(([each]) => each).filter((each) => !each.endsWith('/resourcequotas')))) {
      const names = (items: readonly unknown[]): unknown =>
        items.map((item) => {
          const { metadata, ...rest } = item as { readonly metadata: { resourceVersion: string } };
          return { ...rest, metadata: { ...metadata, resourceVersion: '' } };
        });
      assert.deepEqual(names(await list(own, path)), names(await list(theirs, path)), path);
    }
    await ours.stop();
  });

  test('lists the same objects with the same revisions, while both run', async () => {
    await startOwn('adopted', ['--store', 'etcd', '--etcd-servers', url, '--etcd-adopt']);
    await sameLists();
  });

  test('and ours accept the writes of each other, in turn', async () => {
    let object = await must(own, 'POST', maps, { metadata: { name: 'both' }, data: { n: '0' } });
    for (let count = 1; count < 12; count++) {
      const server = count % 2 === 0 ? own : theirs;
      const before = object;
      object = await must(server, 'PUT', `${maps}/both`, { ...object, data: { n: String(count) } });
      assert.equal(object.data.n, String(count));
      const outdated = await ask(count % 2 === 0 ? theirs : own, 'PUT', `${maps}/both`, before);
      assert.equal(outdated.status, 409);
    }
    await sameLists();
  });

  test('reads Secrets that ours encrypt, and ours read its', async () => {
    const path = '/api/v1/namespaces/default/secrets';
    for (const [index, server] of [own, theirs].entries()) {
      await must(server, 'POST', path, { metadata: { name: `s${index}` }, stringData: { password: `p${index}` } });
    }
    for (const server of [own, theirs]) {
      const { items } = await must(server, 'GET', path);
      const passwords = (items as readonly { data: { password: string } }[]).map(({ data }) =>
        Buffer.from(data.password, 'base64').toString(),
      );
      assert.deepEqual(passwords, ['p0', 'p1', 'x']);
    }
    const { kvs } = await callEtcd(url, 'kv/range', {
      key: Buffer.from(`/registry/secrets/default/s0`).toString('base64'),
    });
    const [kv] = kvs as readonly { readonly value: string }[];
    assert.match(Buffer.from(kv?.value ?? '', 'base64').toString('latin1'), /^k8s:enc:aesgcm:v1:key1:/);
  });

  test('continues watches of our server, and ours continue its watches', async () => {
    const { metadata } = await must(theirs, 'GET', maps);
    const seen = async (server: Transport, from: string, count: number): Promise<readonly string[]> => {
      const names: string[] = [];
      const stop = new AbortController();
      const query = { watch: '1', resourceVersion: from };
      for await (const line of server.stream({ method: 'GET', path: maps, query, signal: stop.signal })) {
        names.push((JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name);
        if (names.length === count) break;
      }
      return names;
    };
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    for (const [index, name] of names.entries())
      await must(index % 2 === 0 ? own : theirs, 'POST', maps, { metadata: { name } });
    assert.deepEqual(await seen(own, metadata.resourceVersion, names.length), names);
    assert.deepEqual(await seen(theirs, metadata.resourceVersion, names.length), names);
  });

  test('allocates no cluster IP that ours has allocated', async () => {
    const created = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        must(index % 2 === 0 ? own : theirs, 'POST', services, {
          metadata: { name: `s${index}` },
          spec: { ports: [{ port: 80 }] },
        }),
      ),
    );
    assert.equal(new Set(created.map(({ spec }) => spec.clusterIP)).size, created.length);
    for (const [index, { metadata }] of created.entries()) {
      await must(index % 3 === 0 ? own : theirs, 'DELETE', `${services}/${metadata.name}`);
    }
    await sameLists();
  });

  test('keeps its node ports, and both are endpoints of `kubernetes`', async () => {
    const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30123 }] };
    const { body } = await ask(own, 'POST', services, { metadata: { name: 'thief' }, spec });
    assert.match(body.message, /provided port is already allocated/);
    await until('both servers are endpoints', async () => {
      const { subsets } = await must(own, 'GET', '/api/v1/namespaces/default/endpoints/kubernetes');
      const found = new Set(
        (subsets as readonly { addresses: { ip: string }[] }[]).flatMap(({ addresses }) =>
          addresses.map(({ ip }) => ip),
        ),
      );
      return found.has('192.0.2.10') && found.has('127.0.0.1');
    });
  });

  test('keeps a namespace until it has deleted objects that ours do not serve', async () => {
    await must(theirs, 'POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
    const path = '/apis/storage.k8s.io/v1/namespaces/shop/csistoragecapacities';
    await must(theirs, 'POST', path, { metadata: { name: 'c' }, storageClassName: 'class' });
    await must(own, 'DELETE', '/api/v1/namespaces/shop');
    await until('the object is reported', async () => {
      const { status } = await must(own, 'GET', '/api/v1/namespaces/shop');
      return JSON.stringify(status).includes(
        'Some resources are remaining: csistoragecapacities. has 1 resource instances',
      );
    });
    await must(theirs, 'DELETE', `${path}/c`);
    await until(
      'the namespace is deleted',
      async () => (await ask(theirs, 'GET', '/api/v1/namespaces/shop')).status === 404,
    );
  });

  test('can be replaced by ours, and can replace ours', async () => {
    await upstream[Symbol.asyncDispose]();
    const spec = { type: 'NodePort', ports: [{ port: 80 }] };
    const made = await must(own, 'POST', services, { metadata: { name: 'made' }, spec });
    const { spec: moved } = await must(own, 'GET', `${services}/web`);
    await must(own, 'DELETE', `${services}/web`);
    await ours.stop();
    await startUpstream();
    const found = await must(theirs, 'GET', `${services}/made`);
    assert.deepEqual(found.spec, made.spec);
    const taken = await ask(theirs, 'POST', services, {
      metadata: { name: 'thief' },
      spec: { type: 'NodePort', ports: [{ port: 80, nodePort: made.spec.ports[0].nodePort }] },
    });
    assert.match(taken.body.message, /provided port is already allocated/);
    const ip = await ask(theirs, 'POST', services, {
      metadata: { name: 'thief' },
      spec: { clusterIP: made.spec.clusterIP, ports: [{ port: 80 }] },
    });
    assert.match(ip.body.message, /already allocated/);
    await must(theirs, 'POST', services, {
      metadata: { name: 'again' },
      spec: { ...spec, clusterIP: moved.clusterIP },
    });
    await must(theirs, 'DELETE', `${services}/made`);
    await upstream[Symbol.asyncDispose]();
    await startOwn('adopted', ['--store', 'etcd', '--etcd-servers', url]);
    // The claim of the node port that the other server released is repaired.
    const { nodePort } = made.spec.ports[0];
    await must(own, 'POST', services, {
      metadata: { name: 'reused' },
      spec: { ...spec, ports: [{ port: 80, nodePort }] },
    });
    const again = await must(own, 'GET', `${services}/again`);
    assert.equal(again.spec.clusterIP, moved.clusterIP);
  });
});

test('every kind that both serve has an object in this test, or a reason', () => {
  const without = ['namespaces', 'validatingwebhookconfigurations', 'ipaddresses', 'servicecidrs'];
  const covered = new Set(objects.map(([path]) => path.split('/').at(-1)));
  for (const { plural, stored, storage, custom, gate } of kinds) {
    if (gate !== undefined || !stored || storage !== undefined || custom) continue;
    assert.ok(covered.has(plural) !== without.includes(plural), plural);
  }
});
