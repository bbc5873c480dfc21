// Tests that the example service account has the rights of the server, and the role no more than needed.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';

import { freePort } from '../../src/server/testing/free-port.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { root } from '../harness/process.ts';
import { dig } from './clients.ts';
import { applyFile, askHealth, startAlone, startDns } from './stands.ts';

const allowed = [
  'services',
  'namespaces',
  'pods',
  'endpointslices.discovery.k8s.io',
  'serviceimports.multicluster.x-k8s.io',
];
const denied = ['secrets', 'configmaps', 'endpoints', 'nodes', 'serviceexports.multicluster.x-k8s.io'];

test(
  'a service account with the example roles can read everything that the server needs',
  { skip: unlessInstalled('dig') },
  async () => {
    await using stand = await startAlone();
    const { server, kubectl } = stand;
    await kubectl(['apply', '-f', join(root, 'examples', 'dns', 'rbac.yaml')]);
    await applyFile(stand, 'catalogue.yaml');
    const token = (await kubectl(['create', 'token', 'fairlead-dns', '--namespace', 'kube-system'])).trim();
    const admin = load(await readFile(server.kubeconfig, 'utf8')) as {
      readonly contexts: readonly [{ context: object }];
    };
    const [{ context, ...named }] = admin.contexts;
    const file = join(server.directory, 'account.kubeconfig');
    const contexts = [{ ...named, context: { ...context, user: 'account' } }];
    await writeFile(file, JSON.stringify({ ...admin, contexts, users: [{ name: 'account', user: { token } }] }));
    const dns = { address: '127.0.0.1', port: await freePort() };
    await using process = startDns(file, dns, ['--pods', 'verified']);
    await process.ready();
    assert.deepEqual((await dig(dns, 'web.shop.svc.cluster.local')).answer, ['A 10.96.1.1']);
    assert.deepEqual((await dig(dns, 'cart.shop.svc.clusterset.local')).answer, ['A 10.96.9.1']);
    assert.doesNotMatch((await askHealth(process, '/metrics')).text, /^rest_client_requests_total\{code="40[13]"/m);
    assert.doesNotMatch(process.err, /forbidden/i);
    await process.stop('SIGTERM');

    const user = ['--as', 'system:fairlead:dns'];
    const may = async (verb: string, resource: string): Promise<boolean> =>
      (await kubectl(['auth', 'can-i', verb, resource, ...user]).catch(() => 'no')).startsWith('yes');
    for (const resource of allowed) {
      assert.equal(await may('watch', resource), true, resource);
      assert.equal(await may('update', resource), false, resource);
    }
    for (const resource of denied) assert.equal(await may('get', resource), false, resource);
  },
);
