import assert from 'node:assert/strict';
import { test } from 'node:test';

import { gatesWith } from '../api/gates.ts';
import type { Endpoints } from '../api/kinds/core/endpoints/schema.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { testServer } from '../server/testing/server.ts';
import { plan as planEndpoints } from './endpoints/plan.ts';
import { plan as planSlices } from './endpointslice/plan.ts';
import { plan as planMirrors } from './mirroring/plan.ts';
import type { SliceWrites } from './slices.ts';
import { dropsSrvName, gatesWithoutSrvName } from './target-ports.ts';

// The server must keep planned objects unchanged; otherwise a controller would update them endlessly.

type Server = Awaited<ReturnType<typeof testServer>>;

const core = '/api/v1/namespaces/default';
const discovery = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const nothing = { create: [], update: [], remove: [] };

async function send<T>(server: Server, method: string, url: string, body: unknown): Promise<T> {
  const answer = await server.ask(method, url, { body });
  assert.ok(answer.status < 300, answer.text);
  // A cast where bytes become objects.
  return answer.body as T;
}

async function slicesIn(server: Server): Promise<readonly EndpointSlice[]> {
  const { body } = await server.ask('GET', discovery);
  return (body as { items: EndpointSlice[] }).items.filter(({ metadata }) => metadata.namespace === 'default');
}

async function write(server: Server, { create, update, remove }: SliceWrites): Promise<void> {
  for (const slice of create) await send(server, 'POST', discovery, slice);
  for (const slice of update) await send(server, 'PUT', `${discovery}/${slice.metadata.name}`, slice);
  for (const { metadata } of remove) await server.ask('DELETE', `${discovery}/${metadata.name}`);
}

async function podOn(server: Server, name: string, ip: string): Promise<Pod> {
  const pod = await send<Pod>(server, 'POST', `${core}/pods`, {
    metadata: { name, labels: { app: 'web' } },
    spec: {
      nodeName: 'n1',
      hostname: name,
      subdomain: 'web',
      containers: [{ name: 'c', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }],
    },
  });
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
  return send<Pod>(server, 'PUT', `${core}/pods/${name}/status`, { ...pod, status });
}

test('the server keeps planned slices and Endpoints unchanged', async () => {
  await using server = await testServer();
  const gates = gatesWith();
  const node = await send<Node>(server, 'POST', '/api/v1/nodes', {
    metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'east' } },
  });
  const service = await send<Service>(server, 'POST', `${core}/services`, {
    metadata: { name: 'web', labels: { team: 'a' } },
    spec: {
      clusterIP: 'None',
      selector: { app: 'web' },
      trafficDistribution: 'PreferSameNode',
      ports: [
        { name: 'http', port: 80, targetPort: 'http', appProtocol: 'http', srvServiceName: 'web' },
        { name: 'plain', port: 81 },
      ],
    },
  });
  const pods = [await podOn(server, 'a', '10.0.0.1'), await podOn(server, 'b', '10.0.0.2')];
  const nodes = new Map([['n1', node]]);
  const triggerTime = '2026-01-01T00:00:00Z';
  // No Pods, then two, then one: placeholder, reused slice, changed slice.
  for (const present of [[], pods, pods.slice(1)]) {
    const observed = { service, pods: present, nodes, gates, triggerTime };
    const planned = planSlices({ ...observed, slices: await slicesIn(server) });
    assert.equal(planned.create.length + planned.update.length, 1);
    await write(server, planned);
    const again = planSlices({ ...observed, slices: await slicesIn(server) });
    assert.deepEqual(again, { ...nothing, events: [], missingNodes: [] });
  }
  let endpoints: Endpoints | undefined;
  for (const present of [[], pods, pods.slice(1)]) {
    const observed = { service, pods: present, gates, triggerTime };
    const { create, update } = planEndpoints({ ...observed, endpoints });
    for (const each of create) endpoints = await send(server, 'POST', `${core}/endpoints`, each);
    for (const each of update) endpoints = await send(server, 'PUT', `${core}/endpoints/web`, each);
    assert.deepEqual(planEndpoints({ ...observed, endpoints }), nothing);
  }
});

test('the server keeps a planned mirror unchanged', async () => {
  await using server = await testServer();
  const service = await send<Service>(server, 'POST', `${core}/services`, {
    metadata: { name: 'db' },
    spec: { ports: [{ port: 5432 }] },
  });
  const endpoints = await send<Endpoints>(server, 'POST', `${core}/endpoints`, {
    metadata: { name: 'db', labels: { team: 'a' }, annotations: { note: 'x' } },
    subsets: [
      {
        addresses: [{ ip: '192.0.2.1', hostname: 'one' }, { ip: '2001:db8::1' }],
        notReadyAddresses: [{ ip: '192.0.2.2', nodeName: 'n1', targetRef: { kind: 'Pod', name: 'p' } }],
        ports: [{ port: 5432, srvServiceName: 'sql' }],
      },
    ],
  });
  const observed = { service, endpoints, gates: gatesWith() };
  const { create } = planMirrors({ ...observed, slices: [] });
  assert.equal(create.length, 2);
  await write(server, { ...nothing, create });
  const mirrors = (await slicesIn(server)).filter(
    ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'db',
  );
  assert.deepEqual(planMirrors({ ...observed, slices: mirrors }), { ...nothing, events: [] });
});

test('SRV-4 detects a server that drops srvServiceName; the next plan is empty', async () => {
  await using server = await testServer();
  const body = {
    metadata: { name: 'idm' },
    spec: { selector: { app: 'web' }, ports: [{ port: 88, srvServiceName: 'kerberos' }] },
  };
  const service = await send<Service>(server, 'POST', `${core}/services`, body);
  const pods = [await podOn(server, 'a', '10.0.0.1')];
  const observed = { service, pods, nodes: new Map(), gates: gatesWith() };
  await using old = await testServer({ gates: { SRVServiceName: false } });
  const publishing = {
    ...observed,
    service: { ...service, spec: { ...service.spec, publishNotReadyAddresses: true } },
  };
  const [sent] = planSlices({ ...publishing, slices: [] }).create;
  assert.ok(sent);
  const kept = await send<EndpointSlice>(old, 'POST', discovery, sent);
  assert.equal(dropsSrvName(sent.ports ?? [], kept.ports ?? []), true);
  assert.equal(dropsSrvName(sent.ports ?? [], sent.ports ?? []), false);
  const again = planSlices({ ...publishing, slices: [kept], gates: gatesWithoutSrvName(observed.gates) });
  assert.deepEqual(again, { ...nothing, events: [], missingNodes: [] });
});
