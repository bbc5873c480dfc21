// Answers of kube-apiserver and of our server to the same requests: the creation of an object of every kind that both serve, with
// each field set to each of several values; and requests of all verbs with unusual parameters. DIFFERENCES names a file for all differences.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { kinds } from '../../src/api/kinds/registry.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Transport } from '../../src/client/transport.ts';
import { collectionOf, manifestOf } from '../../src/server/testing/manifests.ts';
import { until } from '../../src/server/testing/until.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import type { Question } from './compare.ts';
import { compare } from './compare.ts';
import { variationsOf } from './field-values.ts';
import { ruleOf, rules } from './known-differences.ts';
import { existing, requests } from './requests.ts';
import { checkTable } from './table.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

/** Kinds that Kubernetes has too. */
const shared = kinds.filter(
  ({ custom, stored, verbs, group, gate }) =>
    gate === undefined &&
    !custom &&
    stored &&
    verbs.includes('create') &&
    !group.endsWith('fairlead.dev') &&
    !group.startsWith('multicluster'),
);

function* creations(): Generator<Question> {
  for (const kind of shared) {
    const path = collectionOf(kind);
    for (const { path: field, value, object } of variationsOf(kind, manifestOf(kind))) {
      // The metadata of all kinds is the same.
      if (field.startsWith('metadata') && kind.kind !== 'ConfigMap') continue;
      const name = `create ${kind.kind}.${kind.version}.${kind.group} ${field}=${JSON.stringify(value).slice(0, 60)}`;
      const query = { dryRun: 'All', fieldValidation: 'Strict' };
      yield { name, request: { method: 'POST', path, query, body: JSON.stringify(object) } };
    }
  }
}

describe('answers of kube-apiserver', { skip }, () => {
  const stack = new AsyncDisposableStack();
  const servers: Transport[] = [];
  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const theirs = stack.use(await KubeApiserver.start(path, programs ?? assert.fail()));
    const gates = ['--feature-gates', 'RelaxedServiceNameValidation=false,SRVServiceName=false'];
    const flags = ['--service-cluster-ip-range', '10.0.0.0/16', '--store', 'memory', ...gates];
    const ours = stack.use(await startFairlead(join(path, 'ours'), ['server', ...flags]));
    for (const file of [await theirs.kubeconfig('admin'), ours.kubeconfig])
      servers.push(stack.use(overHttps(await readKubeconfig({ paths: [file] }))));
    const isReady = (server: Transport): Promise<boolean> =>
      server.request({ method: 'GET', path: '/readyz' }).then(
        ({ status }) => status === 200,
        () => false,
      );
    await until('the servers are ready', async () => (await Promise.all(servers.map(isReady))).every(Boolean), 120_000);
  });
  after(() => stack.disposeAsync());

  test('differ only as docs/reference/conformance.md states', async () => {
    const [theirs = assert.fail(), ours = assert.fail()] = servers;
    for (const server of servers) {
      for (const [path, object] of existing) {
        const { status, body } = await server.request({ method: 'POST', path, body: JSON.stringify(object) });
        assert.equal(status, 201, body);
      }
    }
    const questions = [...creations(), ...requests()];
    const { compared, differences } = await compare(questions, theirs, ours);
    const file = process.env['DIFFERENCES'];
    if (file !== undefined) await writeFile(file, JSON.stringify(differences, null, 1));
    const named = differences.map((difference) => ({ ...difference, rule: ruleOf(difference) }));
    assert.deepEqual(
      named.filter(({ rule }) => rule === undefined).slice(0, 20),
      [],
      `of ${compared} answers, these differ in a way that has no rule`,
    );
    const results = rules.map(({ name }) => ({
      name,
      result: `${named.filter(({ rule }) => rule === name).length} of ${compared}`,
    }));
    await checkTable('answers', results);
  });
});
