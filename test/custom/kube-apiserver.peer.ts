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
import { countRules } from './rules.ts';
import { brokenDefinitions, objects, widgets } from './samples.ts';

const programs = findKubeApiserver();
const skip = programs === undefined && 'kube-apiserver and etcd are not on the PATH, nor in KUBE_APISERVER and ETCD';

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}
type Ask = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => Promise<Answer>;

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The errors of a reply as sorted lines, since Go reports them in the order of maps. */
function errorsOf({ status, body }: Answer): unknown {
  if (status < 300) return { status };
  if (typeof body === 'string') return { status, message: body };
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
    ours = async (method, path, body) => {
      const answer = await server.ask(method, path, body === undefined ? {} : { body });
      return { status: answer.status, body: answer.body ?? answer.text };
    };
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
          const value = documentIn(text);
          return isJsonObject(value)
            ? [value as { kind?: string; apiVersion?: string; metadata?: { name?: string; namespace?: string } }]
            : [];
        });
      const definitions = documents.filter(
        ({ kind, apiVersion }) => kind === 'CustomResourceDefinition' && apiVersion === 'apiextensions.k8s.io/v1',
      );
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
      const compare = async (path: string, given: object): Promise<number> => {
        const [want, got] = await Promise.all(
          [theirs, ours].map((ask) => ask('POST', `${path}?dryRun=All`, given) as Promise<Answer>),
        );
        assert.ok(want && got);
        assert.deepEqual(errorsOf(got), errorsOf(want));
        if (want.status < 300) assert.deepEqual(got.body.spec, want.body.spec);
        return want.status;
      };
      /** Updates a stored object with each change of a field. */
      const compareUpdates = async (path: string, sample: Readonly<Record<string, unknown>>): Promise<void> => {
        const at = `${path}/sample`;
        const stored = await Promise.all([theirs, ours].map((ask) => ask('POST', path, sample)));
        assert.deepEqual(
          stored.map(({ status }) => status),
          [201, 201],
        );
        try {
          for (const { object } of changesOf(sample)) {
            const answers = await Promise.all(
              [theirs, ours].map(async (ask) => {
                const { body } = await ask('GET', at);
                return ask('PUT', `${at}?dryRun=All`, { ...object, metadata: body.metadata });
              }),
            );
            const [want, got] = answers.map(errorsOf);
            assert.deepEqual(got, want);
          }
        } finally {
          await Promise.all([theirs, ours].map((ask) => ask('DELETE', at)));
        }
      };
      const valid: { readonly path: string; readonly given: Readonly<Record<string, unknown>> }[] = [];
      const counts = new Map<number, number>();
      const count = (status: number): unknown => counts.set(status, (counts.get(status) ?? 0) + 1);
      for (const [index, object] of documents.entries()) {
        const path = plurals.get(`${object.apiVersion} ${object.kind}`);
        if (path === undefined) continue;
        const { namespace: _namespace, ...metadata } = object.metadata ?? {};
        const given = { ...object, metadata };
        await context.test(`${object.kind} ${index} ${object.metadata?.name ?? ''}`, async () => {
          await until('kube-apiserver serves it', async () => (await theirs('GET', path)).status === 200);
          const status = await compare(path, given);
          count(status);
          if (status === 201) valid.push({ path, given });
        });
      }
      await context.test('every CEL rule is evaluated, with the same errors', async (rules) => {
        let [byProjects, all] = [0, 0];
        const unreached: string[] = [];
        for (const definition of definitions) {
          const counted = countRules(definition);
          for (const object of documents) counted.evaluate(object);
          all += counted.rules.length;
          byProjects += counted.rules.filter(({ evaluations }) => evaluations > 0).length;
          for (const rule of counted.rules) {
            const isReached = rule.evaluations > 0;
            counted.evaluate(rule.sample);
            if (rule.evaluations === 0) unreached.push(rule.name);
            const path = plurals.get(`${String(rule.sample['apiVersion'])} ${String(rule.sample['kind'])}`);
            if (path === undefined || (isReached && !rule.isTransition)) continue;
            await rules.test(rule.name, async () => {
              const status = await compare(path, rule.sample);
              count(status);
              if (status !== 201) return;
              valid.push({ path, given: rule.sample });
              if (rule.isTransition) await compareUpdates(path, rule.sample);
            });
          }
        }
        rules.diagnostic(`${all} rules, ${byProjects} of them evaluated by objects of the projects`);
        assert.deepEqual(unreached, []);
      });
      // Each change of each field once for each resource.
      const tried = new Set<string>();
      for (const [path, samples] of Map.groupBy(valid, (sample) => sample.path)) {
        const changes = samples
          .flatMap(({ given }) => [...changesOf(given)])
          .filter(({ name }) => {
            const isNew = !tried.has(`${path} ${name}`);
            tried.add(`${path} ${name}`);
            return isNew;
          });
        await context.test(`${changes.length} changes of ${path}`, async () => {
          const differences: string[] = [];
          for (const { name, object } of changes) {
            try {
              count(await compare(path, object));
            } catch (error) {
              if (!(error instanceof assert.AssertionError)) throw error;
              differences.push(`${name}: ${differenceOf(error.actual, error.expected)}`);
            }
          }
          assert.deepEqual(differences, []);
        });
      }
      context.diagnostic(`answers of kube-apiserver: ${JSON.stringify([...counts])}`);
    },
  );
});

/** The errors that only one server reports. */
function differenceOf(ours: unknown, theirs: unknown): string {
  const linesIn = (answer: unknown): readonly string[] =>
    isJsonObject(answer) && Array.isArray(answer['lines']) ? answer['lines'] : [JSON.stringify(answer)];
  const [got, want] = [linesIn(ours), linesIn(theirs)];
  const only = (lines: readonly string[], others: readonly string[]): readonly string[] =>
    lines.filter((line) => !others.includes(line));
  return JSON.stringify({ ours: only(got, want), theirs: only(want, got) });
}

/** A YAML document; undefined for templates and other files that are not YAML. */
function documentIn(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch {
    return undefined;
  }
}

/** The values that replace one of each type. */
const replacements: Readonly<Record<string, readonly unknown[]>> = {
  string: ['', 'Not valid!', 'x'.repeat(300), 7],
  number: [-1, 70_000, 1.5, 'seven'],
  boolean: ['yes'],
  object: [{}, 'text'],
  array: [[], 'text'],
};

/** The object with one field under `spec` removed or replaced, for all fields. */
function* changesOf(
  object: Readonly<Record<string, unknown>>,
): Generator<{ readonly name: string; readonly object: object }> {
  for (const [at, value] of fieldsIn(object['spec'], ['spec'])) {
    const type = Array.isArray(value) ? 'array' : typeof value;
    const path = at.map((part) => (/^\d+$/.test(part) ? '*' : part)).join('.');
    yield { name: `${path} removed`, object: changed(object, at, undefined) };
    for (const replacement of replacements[type] ?? []) {
      const what = JSON.stringify(replacement).slice(0, 20);
      yield { name: `${path} ${type} ${what}`, object: changed(object, at, replacement) };
    }
    if (Array.isArray(value) && value.length > 0) {
      yield { name: `${path} repeated`, object: changed(object, at, [...value, value[0]]) };
      yield {
        name: `${path} 100 times`,
        object: changed(
          object,
          at,
          Array.from({ length: 100 }, () => value[0]),
        ),
      };
    }
  }
}

function* fieldsIn(value: unknown, at: readonly string[]): Generator<readonly [readonly string[], unknown]> {
  yield [at, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) yield* fieldsIn(child, [...at, key]);
}

/** A copy of `value` with another value at a path; undefined removes it. */
function changed(value: unknown, [first, ...rest]: readonly string[], replacement: unknown): object {
  const copy: Record<string, unknown> = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never;
  if (first === undefined) return copy;
  if (rest.length > 0) copy[first] = changed(copy[first], rest, replacement);
  else if (replacement !== undefined) copy[first] = replacement;
  else if (Array.isArray(copy)) copy.splice(Number(first), 1);
  else delete copy[first];
  return copy;
}
