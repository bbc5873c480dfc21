import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { gatesWith } from '../../api/gates.ts';
import { daemonSetKind } from '../../api/kinds/apps/daemonset/kind.ts';
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts';
import { statefulSetKind } from '../../api/kinds/apps/statefulset/kind.ts';
import { cronJobKind } from '../../api/kinds/batch/cronjob/kind.ts';
import { jobKind } from '../../api/kinds/batch/job/kind.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { replicationControllerKind } from '../../api/kinds/core/replicationcontroller/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { podDisruptionBudgetKind } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { readyNode, startAgent } from '../../controllers/testing/agent.ts';
import { partUser } from '../../server/access/identity/users.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { part } from './part.ts';
import type { Instance } from '../part/instance.ts';
import { printMetrics, startInstance } from '../part/instance.ts';

/** The controllers as in `up`, and everything they log. */
async function start(server: TestServer): Promise<{ readonly instance: Instance; readonly logged: string[] }> {
  const logged: string[] = [];
  const user = { name: partUser(part.name), uid: '', groups: ['system:authenticated'] };
  const cluster = { name: 'east', gates: gatesWith(), serviceCidrs: [], dns: { address: '127.0.0.1', port: 0 } };
  const instance = startInstance({
    name: part.name,
    start: await part.inUp(cluster)(),
    transport: inProcess((request) => server.handle({ ...request, user })),
    server: 'https://127.0.0.1:6443',
    log: pino({ level: 'debug' }, { write: (line) => logged.push(line) }),
  });
  return { instance, logged };
}

test('the controllers do all their work with the rights of their roles', async () => {
  await using server = await testServer();
  const { instance, logged } = await start(server);
  await using _ = instance;
  await instance.ready;
  const admin = { name: 'admin', uid: '', groups: ['system:masters'] };
  using client = new Client(inProcess((request) => server.handle({ ...request, user: admin })));
  const namespace = 'default';
  const service = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } };
  await server.ask('POST', `/api/v1/namespaces/${namespace}/services`, { body: service });
  const bare = { metadata: { name: 'bare' }, spec: { ports: [{ port: 80 }] } };
  await server.ask('POST', `/api/v1/namespaces/${namespace}/services`, { body: bare });
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }];
  await server.ask('POST', `/api/v1/namespaces/${namespace}/endpoints`, {
    body: { metadata: { name: 'bare' }, subsets },
  });
  const owner = await client.create(configMapKind, { metadata: { namespace, name: 'owner' } });
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' }];
  await client.create(configMapKind, { metadata: { namespace, name: 'owned', ownerReferences } });
  await until('slices of both Services', async () => {
    const { items } = await client.list(endpointSliceKind, { namespace });
    return items.filter(({ metadata }) => metadata.name !== 'kubernetes').length === 2;
  });
  await client.delete(configMapKind, { namespace, name: 'owner' });
  const name = { namespace, name: 'owned' };
  await until('what was owned goes', async () => (await client.find(configMapKind, name)) === undefined);

  await runWorkloads(client);

  const text = await printMetrics(instance.registries());
  assert.match(text, /^rest_client_requests_total\{code="201",method="POST",/m);
  assert.doesNotMatch(text, /^rest_client_requests_total\{code="403"/m);
  assert.deepEqual(
    logged.filter((line) => /forbidden/i.test(line)),
    [],
  );
});

/** Creates workloads of all kinds, and waits until they have Pods on a node. */
async function runWorkloads(client: Client): Promise<void> {
  await readyNode(client, 'n1');
  await using agent = startAgent({
    client,
    fate: ({ spec }) => (spec.restartPolicy === 'Never' ? 'succeed' : 'ready'),
  });
  const labels = { app: 'web' };
  const spec = { containers: [{ name: 'c', image: 'i:1' }] };
  const selector = { matchLabels: labels };
  const template = { metadata: { labels }, spec };
  const task = { template: { spec: { ...spec, restartPolicy: 'Never' } }, ttlSecondsAfterFinished: 0 };
  const create = async <T extends ApiObject>(kind: Kind<T>, fields: object): Promise<void> => {
    const object = { metadata: { namespace: 'default', name: kind.singular }, ...fields };
    await client.create(kind, object as unknown as T); // the server sets the other fields
  };
  const claims = [
    { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } } },
  ];
  await create(deploymentKind, { spec: { selector, template } });
  await create(statefulSetKind, { spec: { serviceName: 'db', selector, template, volumeClaimTemplates: claims } });
  await create(daemonSetKind, { spec: { selector, template } });
  await create(replicationControllerKind, { spec: { selector: labels, template } });
  await create(podDisruptionBudgetKind, { spec: { selector, minAvailable: '50%' } });
  await create(cronJobKind, { spec: { schedule: '* * * * *', jobTemplate: { spec: task } } });
  await create(jobKind, { spec: task });
  await until(
    'the Job is gone',
    async () => (await client.find(jobKind, { namespace: 'default', name: 'job' })) === undefined,
  );
  await until('four Pods run', async () => {
    const { items } = await client.list(podKind, { namespace: 'default', labelSelector: 'app=web' });
    return items.filter(({ status }) => status.phase === 'Running').length === 4;
  });
  const image = [{ name: 'c', image: 'i:2' }];
  for (const kind of [deploymentKind, statefulSetKind, daemonSetKind] as readonly Kind[]) {
    const body = { spec: { template: { spec: { containers: image } } } };
    await client.patch(kind, { namespace: 'default', name: kind.singular }, { body });
  }
  await until('three have the new image', async () => {
    const { items } = await client.list(podKind, { namespace: 'default', labelSelector: 'app=web' });
    return (
      items.filter((pod) => pod.spec.containers?.[0]?.image === 'i:2' && pod.status.phase === 'Running').length === 3
    );
  });
  agent.refresh();
}

test('every metric is in the documentation', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/metrics.md'), 'utf8');
  await using server = await testServer();
  const { instance } = await start(server);
  await using _ = instance;
  await instance.ready;
  const text = await printMetrics(instance.registries());
  const names = Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name = '']) => name);
  assert.ok(names.length > 10);
  assert.deepEqual(
    names.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});
