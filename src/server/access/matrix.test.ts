// Users × verbs × kinds × namespaces: the expected permissions, the behaviour of the server, and access reviews.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Kind } from '../../api/kind.ts';
import { kinds } from '../../api/kinds/registry.ts';
import { manifestOf } from '../testing/manifests.ts';
import type { TestClient, TestServer, TestUser } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { partUser } from './identity/users.ts';

const part = (name: string): TestUser => ({ name: partUser(name) });

/** Column of the table → user. The first three hold their role in `shop`, the others in the whole cluster. */
const users = {
  viewer: { name: 'viewer' },
  editor: { name: 'anyone', groups: ['editors'] },
  owner: { name: 'system:serviceaccount:shop:owner' },
  auditor: { name: 'auditor' },
  master: { name: 'master', groups: ['system:masters'] },
  stranger: { name: 'stranger' },
  dns: part('dns'),
  proxy: part('proxy'),
  balancer: part('loadbalancer'),
  joiner: part('multicluster'),
} as const satisfies Record<string, TestUser>;
type UserName = keyof typeof users;

/**
 * r reads (get, list, watch); w writes (create, update, patch, delete, deletecollection); u updates and patches, e creates too;
 * c creates, updates and deletes; m creates and deletes; o only updates; n only creates;
 * upper case holds in `default` too, lower case only in `shop`; a dot is no permission.
 */
const expected = `
                       viewer editor owner auditor master stranger dns proxy balancer joiner
services               r      rw     rw    R       RW     .        R   R     RCU      RC
endpoints              r      r      r     R       RW     .        .   .     .        .
endpointslices         r      r      r     R       RW     .        R   R     RC       RC
pods                   r      rw     rw    R       RW     .        R   .     .        .
configmaps             r      rw     rw    R       RW     .        .   .     .        .
secrets                .      rw     rw    .       RW     .        .   .     .        .
serviceaccounts        r      rw     rw    R       RW     .        .   .     .        .
events                 r      rw     rw    R       RW     .        .   E     E        E
deployments            r      rw     rw    R       RW     .        .   .     .        .
ingresses              r      rw     rw    R       RW     .        .   .     .        .
leases                 .      rw     rw    .       RW     .        .   .     .        .
resourcequotas         r      r      r     R       RW     .        .   .     .        .
roles                  .      .      rw    .       RW     .        .   .     .        .
rolebindings           .      .      rw    .       RW     .        .   .     .        .
serviceexports         r      rw     rw    R       RW     .        .   .     .        RO
serviceimports         r      r      r     R       RW     .        R   R     R        RC
importedservices       r      r      r     R       RW     .        R   R     R        RC
nodes                  .      .      .     .       RW     .        .   R     R        R
clusterroles           .      .      .     .       RW     .        .   .     .        .
clusterrolebindings    .      .      .     .       RW     .        .   .     .        .
servicecidrs           .      .      .     .       RW     .        .   R     .        R
clusterproperties      .      .      .     R       RW     .        .   .     .        RM
cloudloadbalancers     .      .      .     R       RW     .        .   .     RC       .
clustermembers         r      r      r     R       RW     .        .   .     .        RO
gatewayclasses         .      .      .     R       RW     .        .   .     RN       .
gateways               r      rw     rw    R       RW     .        .   .     R        .
tcproutes              r      rw     rw    R       RW     .        .   .     R        .
udproutes              r      rw     rw    R       RW     .        .   .     R        .
referencegrants        r      rw     rw    R       RW     .        .   .     R        .
apiservices            .      .      .     .       RW     .        .   .     .        .
pods.metrics.k8s.io    r      r      r     R       RW     .        .   .     .        .
nodes.metrics.k8s.io   .      .      .     R       RW     .        .   .     .        .
`;

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const;
type Verb = (typeof verbs)[number];

const letters: Readonly<Record<string, readonly Verb[]>> = {
  r: ['get', 'list', 'watch'],
  w: ['create', 'update', 'patch', 'delete', 'deletecollection'],
  u: ['update', 'patch'],
  e: ['create', 'update', 'patch'],
  c: ['create', 'update', 'delete'],
  m: ['create', 'delete'],
  o: ['update'],
  n: ['create'],
};

/** The verbs that a cell of the table allows in a namespace. */
function allowedBy(cell: string, namespace: string): ReadonlySet<Verb> {
  const held = cell.split('').filter((letter) => namespace === 'shop' || letter === letter.toUpperCase());
  return new Set(held.flatMap((letter) => letters[letter.toLowerCase()] ?? []));
}

const [head = '', ...lines] = expected.trim().split('\n');
const columns = head.trim().split(/ +/) as UserName[];
const rows = lines.map((line) => {
  const [plural = '', ...cells] = line.split(/ +/);
  return { plural, cells: new Map(columns.map((name, index) => [name, cells[index] ?? ''])) };
});

const kindsOf = (name: string): readonly Kind[] =>
  kinds.filter(({ plural, group, stored }) => (stored ? plural : `${plural}.${group}`) === name);

function pathOf({ group, version, plural, namespaced }: Kind, namespace: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}`;
}

/** Sends the request as a dry run; false if it is forbidden. */
async function isDone(client: TestClient, kind: Kind, namespace: string, verb: Verb): Promise<boolean> {
  const path = pathOf(kind, namespace);
  const body = manifestOf(kind);
  const item = `${path}/${body.metadata.name}`;
  if (verb === 'watch') {
    const watch = await client.watch(`${path}?watch=1`).catch((error: Error) => error);
    if (!(watch instanceof Error)) watch.close();
    else assert.match(watch.message, /not 403/);
    return !(watch instanceof Error);
  }
  const request = {
    get: () => client.ask('GET', item),
    list: () => client.ask('GET', path),
    create: () => client.ask('POST', `${path}?dryRun=All`, { body }),
    update: () => client.ask('PUT', `${item}?dryRun=All`, { body }),
    patch: () => client.ask('PATCH', `${item}?dryRun=All`, { body: {}, type: 'application/merge-patch+json' }),
    delete: () => client.ask('DELETE', `${item}?dryRun=All`),
    deletecollection: () => client.ask('DELETE', `${path}?dryRun=All`),
  }[verb];
  const { status, body: answer } = await request();
  return !(status === 403 && String(answer.message).includes(` cannot ${verb} resource `));
}

async function isAllowed(client: TestClient, kind: Kind, namespace: string, verb: Verb): Promise<boolean> {
  const named = verb === 'list' || verb === 'watch' || verb === 'create' || verb === 'deletecollection';
  const resourceAttributes = {
    verb,
    group: kind.group,
    resource: kind.plural,
    ...(kind.namespaced ? { namespace } : {}),
    ...(named ? {} : { name: String(manifestOf(kind).metadata.name) }),
  };
  const url = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status, body } = await client.ask('POST', url, { body: { spec: { resourceAttributes } } });
  assert.equal(status, 201);
  return body.status.allowed;
}

describe('the permission matrix', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer({ gates: { MutatingAdmissionPolicy: true } });
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
    const bind = (path: string, role: string, subject: object): Promise<unknown> =>
      server.ask('POST', `${rbac}/${path}`, {
        body: { metadata: { name: role }, subjects: [subject], roleRef: { kind: 'ClusterRole', name: role } },
      });
    await bind('namespaces/shop/rolebindings', 'view', { kind: 'User', name: 'viewer' });
    await bind('namespaces/shop/rolebindings', 'edit', { kind: 'Group', name: 'editors' });
    await bind('namespaces/shop/rolebindings', 'admin', { kind: 'ServiceAccount', name: 'owner' });
    await bind('clusterrolebindings', 'view', { kind: 'User', name: 'auditor' });
  });
  after(() => server[Symbol.asyncDispose]());

  for (const { plural, cells } of rows) {
    test(plural, async () => {
      assert.ok(kindsOf(plural).length > 0, plural);
      for (const [name, cell] of cells) {
        const client = server.as(users[name]);
        for (const kind of kindsOf(plural)) {
          for (const namespace of ['shop', 'default']) {
            const want = allowedBy(cell, kind.namespaced ? namespace : '');
            for (const verb of kind.verbs) {
              const where = `${name} ${verb} ${kind.plural}.${kind.version}.${kind.group} in ${namespace}`;
              assert.equal(await isDone(client, kind, namespace, verb), want.has(verb), `${where}: done`);
              assert.equal(await isAllowed(client, kind, namespace, verb), want.has(verb), `${where}: reviewed`);
            }
          }
        }
      }
    });
  }

  test('access reviews and the server agree about every kind', async () => {
    for (const [name, user] of Object.entries(users)) {
      const client = server.as(user);
      for (const kind of kinds.filter(({ stored }) => stored)) {
        for (const verb of kind.verbs) {
          const where = `${name} ${verb} ${kind.plural}.${kind.version}.${kind.group}`;
          assert.equal(await isDone(client, kind, 'shop', verb), await isAllowed(client, kind, 'shop', verb), where);
        }
      }
    }
  });
});
