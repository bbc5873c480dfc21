// Custom resources of a kube-apiserver and of ours: both accept and reject the same definitions and objects, with the same
// errors. FAIRLEAD_CRDS names a folder with further definitions and objects in YAML, such as those of projects.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { parseYaml } from '../../src/api/schema/yaml.ts';
import { isJsonObject } from '../../src/api/schema/json-object.ts';
import type { TestServer } from '../../src/server/testing/server.ts';
import { testServer } from '../../src/server/testing/server.ts';
import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubeApiserver, KubeApiserver } from '../parts/kube-apiserver.ts';
import { brokenDefinitions, objects, widgets } from './samples.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}
type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<Answer>;

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The errors of a reply as sorted lines, since Go reports them in the order of maps. */
function errorsOf({ status, body }: Answer): unknown {
  if (status < 300) return { status };
  const causes: { reason?: string; message?: string; field?: string }[] = body.details?.causes ?? [];
  if (causes.length === 0) return { status, message: body.message };
  const lines = new Set(causes.map(({ reason, message, field }) => `${field}: ${reason}: ${message}`));
  return { status, lines: [...lines].sort() };
}

describe('custom resources', { skip }, () => {
  let theirs: Ask;
  let ours: Ask;
  let server: TestServer;
  const stack = new AsyncDisposableStack();

  before(async () => {
    assert.ok(programs);
    const folder = stack.use(await temporaryDirectory());
    const peer = stack.use(await KubeApiserver.start(folder.path, programs));
    const transport = stack.use(overHttps(await readKubeconfig({ paths: [await peer.kubeconfig('kubeconfig')] })));
    theirs = async (method, path, body) => {
      const [pathname = '', query = ''] = path.split('?');
      const response = await transport.request({
        method,
        path: pathname,
        query: Object.fromEntries(new URLSearchParams(query)),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return {
        status: response.status,
        body: response.body.startsWith('{') ? JSON.parse(response.body) : response.body,
      };
    };
    server = stack.use(await testServer());
    ours = async (method, path, body) => server.ask(method, path, body === undefined ? {} : { body });
    await until('kube-apiserver is ready', async () => {
      const answer = await theirs('GET', '/api/v1/namespaces/default').catch(() => undefined);
      return answer?.status === 200;
    });
  });
  after(() => stack.disposeAsync());

  async function installed(definition: object): Promise<void> {
    for (const ask of [theirs, ours]) {
      const { status, body } = await ask('POST', crds, definition);
      assert.equal(status, 201, JSON.stringify(body));
      await until('the definition is established', async () => {
        const { body: crd } = await ask('GET', `${crds}/${body.metadata.name}`);
        const conditions: { type: string; status: string }[] = crd.status?.conditions ?? [];
        return conditions.some((each) => each.type === 'Established' && each.status === 'True');
      });
    }
  }

  for (const [name, definition] of brokenDefinitions) {
    test(`a definition with ${name}`, async () => {
      const [want, got] = [
        await theirs('POST', `${crds}?dryRun=All`, definition),
        await ours('POST', `${crds}?dryRun=All`, definition),
      ];
      assert.deepEqual(errorsOf(got), errorsOf(want));
    });
  }

  test('objects are stored, or rejected with the same errors', async (context) => {
    await installed(widgets);
    const path = '/apis/compare.example.org/v1/namespaces/default/widgets';
    await until('kube-apiserver serves it', async () => (await theirs('GET', path)).status === 200);
    for (const [name, object] of objects) {
      await context.test(name, async () => {
        const [want, got] = [
          await theirs('POST', `${path}?dryRun=All`, object),
          await ours('POST', `${path}?dryRun=All`, object),
        ];
        assert.deepEqual(errorsOf(got), errorsOf(want));
        if (want.status < 300) assert.deepEqual(got.body.spec, want.body.spec);
      });
    }
  });

  const folder = process.env['FAIRLEAD_CRDS'];
  test(
    'definitions and objects of FAIRLEAD_CRDS',
    { skip: folder === undefined && 'FAIRLEAD_CRDS is not set' },
    async (context) => {
      const documents = globSync(`${folder}/**/*.{yaml,yml}`)
        .toSorted()
        .flatMap((file) => readFileSync(file, 'utf8').split(/^---\s*$/m))
        .flatMap((text) => {
          const { value } = parseYaml(text);
          return isJsonObject(value)
            ? [value as { kind?: string; apiVersion?: string; metadata?: { name?: string; namespace?: string } }]
            : [];
        });
      const definitions = documents.filter(({ kind }) => kind === 'CustomResourceDefinition');
      const seen = new Set<string>();
      for (const definition of definitions) {
        const name = definition.metadata?.name ?? '';
        if (seen.has(name)) continue;
        seen.add(name);
        await context.test(name, async () => {
          const [want, got] = [await theirs('POST', crds, definition), await ours('POST', crds, definition)];
          assert.deepEqual(errorsOf(got), errorsOf(want));
        });
      }
      const plurals = new Map<string, string>();
      for (const name of seen) {
        const { body: crd } = await ours('GET', `${crds}/${name}`);
        for (const { name: version } of crd.spec?.versions ?? []) {
          plurals.set(
            `${crd.spec.group}/${version} ${crd.spec.names.kind}`,
            `/apis/${crd.spec.group}/${version}/${crd.spec.scope === 'Namespaced' ? 'namespaces/default/' : ''}${crd.spec.names.plural}`,
          );
        }
      }
      for (const [index, object] of documents.entries()) {
        const path = plurals.get(`${object.apiVersion} ${object.kind}`);
        if (path === undefined) continue;
        const { namespace: _namespace, ...metadata } = object.metadata ?? {};
        const given = { ...object, metadata };
        await context.test(`${object.kind} ${index} ${object.metadata?.name ?? ''}`, async () => {
          await until('kube-apiserver serves it', async () => (await theirs('GET', path)).status === 200);
          const [want, got] = [
            await theirs('POST', `${path}?dryRun=All`, given),
            await ours('POST', `${path}?dryRun=All`, given),
          ];
          assert.deepEqual(errorsOf(got), errorsOf(want));
          if (want.status < 300) assert.deepEqual(got.body.spec, want.body.spec);
        });
      }
    },
  );
});
