// What the nodes `a` and `b` may do: `mine` runs on `a` and uses objects, `other` runs on `b`.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { nodeRequest } from '../../../api/kinds/certificates/certificatesigningrequest/testing/requests.ts';
import type { TestClient, TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';

const namespaced = '/api/v1/namespaces/shop';
const leases = '/apis/coordination.k8s.io/v1/namespaces';
const container = { name: 'c', image: 'example.org/c' };
const mirror = { 'kubernetes.io/config.mirror': 'x' };

const user = (name: string) => ({ name: `system:node:${name}`, groups: ['system:nodes'] });

/** Rows of a method, a path, a body and the end of the message; no message: it is allowed. */
interface Row {
  readonly method?: string;
  readonly url: string;
  readonly body?: unknown;
  readonly denied?: string;
}

const noRelation = "no relationship found between node 'a' and this object";

describe('a node', () => {
  let server: TestServer;
  let a: TestClient;
  let uid: string;
  let nodeUid: string;

  before(async () => {
    server = await testServer();
    a = server.as(user('a'));
    const create = async (url: string, body: object): Promise<string> => {
      const answer = await server.ask('POST', url, { body });
      assert.equal(answer.status, 201, answer.text);
      return answer.body.metadata.uid;
    };
    nodeUid = await create('/api/v1/nodes', { metadata: { name: 'a' } });
    await create('/api/v1/nodes', { metadata: { name: 'b' } });
    await create('/api/v1/namespaces', { metadata: { name: 'shop' } });
    for (const name of ['used', 'unused']) {
      await create(`${namespaced}/secrets`, { metadata: { name } });
      await create(`${namespaced}/configmaps`, { metadata: { name } });
      await create(`${namespaced}/serviceaccounts`, { metadata: { name } });
    }
    const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'used', key: 'k' } } }];
    const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] };
    const spec = {
      nodeName: 'a',
      serviceAccountName: 'used',
      containers: [{ ...container, env }],
      volumes: [
        { name: 's', secret: { secretName: 'used' } },
        { name: 't', projected },
      ],
    };
    uid = await create(`${namespaced}/pods`, { metadata: { name: 'mine' }, spec });
    await create(`${namespaced}/pods`, {
      metadata: { name: 'other' },
      spec: { nodeName: 'b', containers: [container] },
    });
  });
  after(() => server[Symbol.asyncDispose]());

  const check = async ({ method = 'GET', url, body, denied }: Row): Promise<void> => {
    const type = method === 'PATCH' ? { type: 'application/merge-patch+json' } : {};
    const answer = await a.ask(method, url, { ...(body === undefined ? {} : { body }), ...type });
    const message = String(answer.body?.message ?? '');
    if (denied === undefined) assert.ok(answer.status < 300, `${answer.status} ${message}`);
    else assert.deepEqual([answer.status, message.endsWith(denied)], [403, true], message);
  };
  const nameOf = ({ method = 'GET', url, denied }: Row): string =>
    `${denied === undefined ? 'may' : 'may not'} ${method} ${url}${denied === undefined ? '' : `: ${denied}`}`;

  const reads: readonly Row[] = [
    { url: `${namespaced}/secrets/used` },
    { url: `${namespaced}/secrets?fieldSelector=metadata.name%3Dused` },
    { url: `${namespaced}/secrets/unused`, denied: noRelation },
    { url: `${namespaced}/secrets`, denied: 'No Object name found' },
    { url: '/api/v1/secrets', denied: 'can only read namespaced object of this type' },
    { url: '/api/v1/namespaces/default/secrets/used', denied: noRelation },
    { url: `${namespaced}/configmaps/used` },
    { url: `${namespaced}/configmaps/unused`, denied: noRelation },
    { url: `${namespaced}/serviceaccounts/used` },
    { url: `${namespaced}/serviceaccounts/unused`, denied: noRelation },
    { url: `${namespaced}/pods/mine` },
    { url: `${namespaced}/pods/other`, denied: noRelation },
    { url: '/api/v1/pods?fieldSelector=spec.nodeName%3Da' },
    { url: '/api/v1/pods?fieldSelector=spec.nodeName%3Db', denied: 'with spec.nodeName field selector' },
    { url: '/api/v1/pods?fieldSelector=spec.nodeName!%3Da', denied: 'with spec.nodeName field selector' },
    { url: '/api/v1/pods', denied: 'can only list/watch pods with spec.nodeName field selector' },
    { url: '/api/v1/nodes/a' },
    { url: '/api/v1/nodes?fieldSelector=metadata.name%3Da' },
    { url: '/api/v1/nodes/b', denied: "node 'a' cannot read 'b', only its own Node object" },
    { url: '/api/v1/nodes', denied: "node 'a' cannot read all nodes, only its own Node object" },
    { url: '/api/v1/services' },
    { url: '/apis/apps/v1/deployments', denied: 'at the cluster scope' },
    { url: '/apis/discovery.k8s.io/v1/endpointslices', denied: 'at the cluster scope' },
    {
      url: `${leases}/kube-system/leases/a`,
      denied: 'can only access leases in the "kube-node-lease" system namespace',
    },
    { url: `${leases}/kube-node-lease/leases/b`, denied: 'with the same name as the requesting node' },
    { url: `${leases}/kube-node-lease/leases`, denied: 'or delete a node lease' },
  ];
  for (const row of reads) test(nameOf(row), () => check(row));

  const writes: readonly Row[] = [
    { method: 'POST', url: `${leases}/kube-node-lease/leases`, body: { metadata: { name: 'a' }, spec: {} } },
    {
      method: 'POST',
      url: `${leases}/kube-node-lease/leases`,
      body: { metadata: { name: 'b' }, spec: {} },
      denied: 'with the same name as the requesting node',
    },
    { method: 'PATCH', url: '/api/v1/nodes/a/status', body: { status: { phase: 'Running' } } },
    {
      method: 'PATCH',
      url: '/api/v1/nodes/b/status',
      body: { status: { phase: 'Running' } },
      denied: 'node "a" is not allowed to modify node "b"',
    },
    {
      method: 'PATCH',
      url: '/api/v1/nodes/a',
      body: { metadata: { labels: { 'topology.kubernetes.io/zone': 'z', 'example.org/rack': '7' } } },
    },
    {
      method: 'PATCH',
      url: '/api/v1/nodes/a',
      body: { metadata: { labels: { 'node-restriction.kubernetes.io/x': '1', 'node-role.kubernetes.io/master': '' } } },
      denied: 'is not allowed to modify labels: node-restriction.kubernetes.io/x, node-role.kubernetes.io/master',
    },
    {
      method: 'PATCH',
      url: '/api/v1/nodes/a',
      body: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
      denied: 'node "a" is not allowed to modify taints',
    },
    {
      method: 'POST',
      url: '/api/v1/nodes',
      body: { metadata: { name: 'c' } },
      denied: 'node "a" is not allowed to modify node "c"',
    },
    { method: 'DELETE', url: '/api/v1/nodes/a', denied: 'at the cluster scope' },
    { method: 'PATCH', url: `${namespaced}/pods/mine/status`, body: { status: { phase: 'Running' } } },
    {
      method: 'PATCH',
      url: `${namespaced}/pods/other/status`,
      body: { status: { phase: 'Running' } },
      denied: 'node "a" can only update pod status for pods with spec.nodeName set to itself',
    },
    {
      method: 'PATCH',
      url: `${namespaced}/pods/mine/status`,
      body: { metadata: { labels: { x: 'y' } } },
      denied: 'node "a" cannot update labels through pod status',
    },
    { method: 'PATCH', url: `${namespaced}/pods/mine`, body: {}, denied: 'in the namespace "shop"' },
    {
      method: 'POST',
      url: `${namespaced}/pods`,
      body: { metadata: { name: 'new' }, spec: { nodeName: 'a', containers: [container] } },
      denied: 'node "a" can only create mirror pods',
    },
    {
      method: 'DELETE',
      url: `${namespaced}/pods/other`,
      denied: 'node "a" can only delete pods with spec.nodeName set to itself',
    },
    {
      method: 'POST',
      url: `${namespaced}/pods/other/eviction`,
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } },
      denied: 'node a can only evict pods with spec.nodeName set to itself',
    },
    {
      method: 'POST',
      url: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: { spec: { user: 'u', resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy' } } },
    },
    { method: 'POST', url: `${namespaced}/secrets`, body: { metadata: { name: 'x' } }, denied: 'of this type' },
  ];
  for (const row of writes) test(nameOf(row), () => check(row));

  const mirrorOwner = () => ({ apiVersion: 'v1', kind: 'Node', name: 'a', uid: nodeUid, controller: true });
  const mirrors: readonly {
    readonly name: string;
    readonly metadata?: object;
    readonly spec?: object;
    readonly denied?: string;
  }[] = [
    { name: 'of its own' },
    { name: 'of another node', spec: { nodeName: 'b' }, denied: 'with spec.nodeName set to itself' },
    { name: 'without an owner', metadata: { ownerReferences: [] }, denied: 'with an owner reference set to itself' },
    {
      name: 'with a service account',
      spec: { serviceAccountName: 'unused' },
      denied: 'that reference serviceaccounts',
    },
    {
      name: 'with a Secret',
      spec: { volumes: [{ name: 'v', secret: { secretName: 'unused' } }] },
      denied: 'node "a" can not create pods that reference secrets',
    },
    {
      name: 'with a token',
      spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      denied: 'that reference serviceaccounts (via projected volumes)',
    },
  ];
  for (const { name, metadata = {}, spec = {}, denied } of mirrors) {
    test(`${denied === undefined ? 'may' : 'may not'} create a mirror Pod ${name}`, () =>
      check({
        method: 'POST',
        url: `${namespaced}/pods?dryRun=All`,
        body: {
          metadata: { name: 'mirror', annotations: mirror, ownerReferences: [mirrorOwner()], ...metadata },
          spec: { nodeName: 'a', containers: [container], ...spec },
        },
        ...(denied === undefined ? {} : { denied }),
      }));
  }

  const tokens: readonly {
    readonly name: string;
    readonly account?: string;
    readonly spec: () => object;
    readonly denied?: string;
  }[] = [
    { name: 'for a Pod of its own', spec: () => ({ boundObjectRef: bound({ uid }) }) },
    {
      name: 'for an account that none of its Pods uses',
      account: 'unused',
      spec: () => ({ boundObjectRef: bound({ uid }) }),
      denied: noRelation,
    },
    { name: 'without a Pod', spec: () => ({}), denied: 'node requested token not bound to a pod' },
    {
      name: 'without the uid',
      spec: () => ({ boundObjectRef: bound({}) }),
      denied: 'with a pod binding without a uid',
    },
    {
      name: 'for an earlier Pod with this name',
      spec: () => ({ boundObjectRef: bound({ uid: 'x' }) }),
      denied: 'The object might have been deleted and then recreated',
    },
    {
      name: 'for an audience that the Pod does not have',
      spec: () => ({ audiences: ['vault'], boundObjectRef: bound({ uid }) }),
      denied: 'system:node:a is not authorized to request tokens for this audience',
    },
  ];
  const bound = (more: object): object => ({ apiVersion: 'v1', kind: 'Pod', name: 'mine', ...more });
  for (const { name, account = 'used', spec, denied } of tokens) {
    test(`${denied === undefined ? 'may' : 'may not'} create a token ${name}`, () =>
      check({
        method: 'POST',
        url: `${namespaced}/serviceaccounts/${account}/token`,
        body: { spec: { audiences: [], ...spec() } },
        ...(denied === undefined ? {} : { denied }),
      }));
  }

  test('may request certificates with its own name only', async () => {
    const request = Buffer.from(nodeRequest).toString('base64'); // of system:node:a
    const signerName = 'kubernetes.io/kube-apiserver-client-kubelet';
    const body = { metadata: { name: 'csr-a' }, spec: { signerName, usages: ['client auth'], request } };
    const url = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    await check({ method: 'POST', url, body });
    const answer = await server.as(user('b')).ask('POST', url, { body });
    assert.deepEqual([answer.status, answer.body.message.endsWith('CN=system:node:b')], [403, true], answer.text);
  });

  test('loses access with the last Pod that refers to an object', async () => {
    const b = server.as(user('b'));
    const spec = { nodeName: 'b', containers: [container], volumes: [{ name: 'v', secret: { secretName: 'unused' } }] };
    const status = async (): Promise<number> => (await b.ask('GET', `${namespaced}/secrets/unused`)).status;
    assert.equal(await status(), 403);
    await server.ask('POST', `${namespaced}/pods`, { body: { metadata: { name: 'brief' }, spec } });
    assert.equal(await status(), 200);
    await server.ask('DELETE', `${namespaced}/pods/brief?gracePeriodSeconds=0`);
    assert.equal(await status(), 403);
  });

  test('has its rights by the group as well as by the name', async () => {
    for (const impostor of [{ name: 'system:node:a' }, { name: 'a', groups: ['system:nodes'] }]) {
      const answer = await server.as(impostor).ask('GET', `${namespaced}/secrets/used`);
      assert.deepEqual([answer.status, answer.body.message.includes('relationship')], [403, false]);
    }
    const nameless = await server.as(user('')).ask('GET', '/api/v1/services');
    assert.match(nameless.body.message, /unknown node for user "system:node:"$/);
  });

  test('is described by access reviews, with their field selectors', async () => {
    const reviewed = async (fieldSelector: object): Promise<boolean> => {
      const spec = {
        user: 'system:node:a',
        groups: ['system:nodes'],
        resourceAttributes: { verb: 'list', resource: 'pods', fieldSelector },
      };
      const url = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      return (await server.ask('POST', url, { body: { spec } })).body.status.allowed;
    };
    const requirement = (values: readonly string[]): object => ({
      requirements: [{ key: 'spec.nodeName', operator: 'In', values }],
    });
    assert.deepEqual(
      await Promise.all([
        reviewed({ rawSelector: 'spec.nodeName=a' }),
        reviewed(requirement(['a'])),
        reviewed(requirement(['b,spec.nodeName=a'])),
        reviewed(requirement(['a', 'b'])),
      ]),
      [true, true, false, false],
    );
  });
});
