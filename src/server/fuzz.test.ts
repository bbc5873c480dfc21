import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import type { Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { validatingAdmissionPolicyKind } from '../api/kinds/admissionregistration/validatingadmissionpolicy/kind.ts';
import { customResourceDefinitionKind } from '../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { apiServiceKind } from '../api/kinds/apiregistration/apiservice/kind.ts';
import { kinds } from '../api/kinds/registry.ts';
import { arbitraryStruct } from '../api/schema/testing/arbitrary.ts';
import type { StructSchema } from '../api/schema/schema.ts';
import { collectionOf, manifestOf } from './testing/manifests.ts';
import { mutated } from './testing/mutate.ts';
import type { Answer, TestServer } from './testing/server.ts';
import { testServer } from './testing/server.ts';

/** How long each property runs. A failure prints the seed that reproduces it. */
const limits = { numRuns: 1_000_000, interruptAfterTimeLimit: Number(process.env['FAIRLEAD_FUZZ_MS'] ?? 500) };

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const;

type Content = Record<string, unknown>;

/** Prints a kind as its name, for readable failures. */
const named = (kind: Kind): Kind =>
  ({ ...kind, [fc.toStringMethod]: () => `${apiVersionOf(kind)} ${kind.kind}` }) as Kind;

interface Case {
  readonly kind: Kind;
  readonly body: unknown;
}

const stored = kinds.filter((kind) => kind.stored);

/** Removes aggregation rules, with which the server changes a role after the reply. */
function schemaOf({ schema }: Kind): StructSchema {
  const { aggregationRule: _, ...fields } = schema.fields;
  return { ...schema, fields };
}

/** Objects of any kind: valid ones, random ones and mixtures, mostly mutated. */
const cases: fc.Arbitrary<Case> = fc.constantFrom(...stored.map(named)).chain((kind) => {
  const valid = fc.constant<Content>(manifestOf(kind));
  const random = arbitraryStruct(schemaOf(kind));
  const mixed = fc.tuple(random, fc.boolean()).map(([parts, both]) => mix(manifestOf(kind), parts, both));
  return mutated(fc.oneof(valid, mixed, random)).map((body) => ({ kind, body }));
});

/** The manifest with random additions; its own fields win, so that some objects are accepted. */
function mix(manifest: Content, parts: Content, deep: boolean): Content {
  const { metadata: _, kind: __, apiVersion: ___, ...rest } = parts;
  if (!deep) return { ...rest, ...manifest };
  return {
    ...rest,
    ...manifest,
    metadata: { ...(parts['metadata'] as Content | null), ...(manifest['metadata'] as Content), namespace: null },
  };
}

/** A Status with the code of the reply, or an object of the kind. */
function checkAnswer({ status, body, text }: Answer, kind: Kind): void {
  const where = `${status} ${text.slice(0, 2000)}`;
  assert.ok(typeof body === 'object' && body !== null, where);
  if (status < 400 && body.kind !== 'Status') {
    assert.equal(body.kind, kind.kind, where);
    assert.equal(body.apiVersion, apiVersionOf(kind), where);
    assert.equal(typeof body.metadata.name, 'string', where);
    assert.match(body.metadata.uid, /^[0-9a-f-]{36}$/, where);
    return;
  }
  assert.equal(body.kind, 'Status', where);
  assert.equal(body.apiVersion, 'v1', where);
  assert.deepEqual(body.metadata, {}, where);
  assert.equal(body.status, status < 400 ? 'Success' : 'Failure', where);
  if (status >= 400) {
    assert.equal(body.code, status, where);
    assert.equal(typeof body.message, 'string', where);
  }
  if (status < 500) return;
  // Kubernetes also returns 500 for these.
  assert.match(body.message, knownFailures, where);
}

/** Fields and items that apply cannot identify, revisions of new objects, and exhausted ranges. */
const knownFailures =
  /^failed to create typed (patch|live) object|^failed to convert new object|^resourceVersion should not be set|^strconv.ParseUint|range is full|^duplicate nodePort|failed to allocate/;

const jsonText = (value: unknown): string => JSON.stringify(value ?? null);

/** Fewer inputs, on a slow machine, can all be invalid by chance. */
const enough = 200;

test('POST of any input is rejected with a Status, or the object reads back and is written again without a change', async () => {
  await using server = await testServer({ gates: { MutatingAdmissionPolicy: true } });
  const counts = { accepted: 0, all: 0 };
  await fc.assert(
    fc.asyncProperty(cases, fc.constantFrom('Strict', 'Warn', 'Ignore'), async ({ kind, body }, validation) => {
      counts.all++;
      const url = collectionOf(kind);
      const created = await server.ask('POST', `${url}?fieldValidation=${validation}`, { body: jsonText(body) });
      checkAnswer(created, kind);
      if (created.status !== 201) return;
      counts.accepted++;
      await checkStable(server, kind, created);
    }),
    limits,
  );
  assert.equal(Reflect.get({}, 'polluted'), undefined);
  assert.ok(
    counts.all < enough || counts.accepted > counts.all / 50,
    `${counts.accepted} of ${counts.all} were accepted: too few to prove much`,
  );
});

/** Kinds of which the server writes the status after the reply. */
const hasServerStatus = new Set(
  [customResourceDefinitionKind, validatingAdmissionPolicyKind, apiServiceKind].map(({ kind }) => kind),
);

/** Asserts that an accepted object reads back as returned, and that PUT and apply of it change nothing. */
async function checkStable(server: TestServer, kind: Kind, created: Answer): Promise<void> {
  const { name } = created.body.metadata as { readonly name: string };
  const path = `${collectionOf(kind)}/${encodeURIComponent(name)}`;
  if (hasServerStatus.has(kind.kind)) return remove(server, kind, path);
  const read = await server.ask('GET', path);
  assert.deepEqual(read.body, created.body);
  for (const accept of [
    'application/json;as=Table;g=meta.k8s.io;v=v1',
    'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'application/yaml',
  ]) {
    assert.equal((await server.ask('GET', path, { accept })).status, 200, accept);
  }
  const put = await server.ask('PUT', path, { body: created.body });
  assert.equal(put.status, 200, put.text);
  assert.deepEqual(put.body, created.body, 'PUT of what was answered is no change');

  const { managedFields: _, resourceVersion: __, uid: ___, ...metadata } = created.body.metadata;
  const applied = { body: { ...created.body, metadata }, type: 'application/apply-patch+yaml' };
  const first = await server.ask('PATCH', `${path}?fieldManager=fuzz&force=true`, applied);
  checkAnswer(first, kind);
  // Apply cannot identify some list items that other writes can create.
  if (first.status === 500) return remove(server, kind, path);
  assert.equal(first.status, 200, first.text);
  const second = await server.ask('PATCH', `${path}?fieldManager=fuzz&force=true`, applied);
  assert.deepEqual(second.body, first.body, 'the same apply twice is no change');
  await remove(server, kind, path);
}

async function remove(server: TestServer, kind: Kind, path: string): Promise<void> {
  const patch = { body: { metadata: { finalizers: null } }, type: 'application/merge-patch+json' };
  await server.ask('PATCH', path, patch);
  checkAnswer(await server.ask('DELETE', `${path}?gracePeriodSeconds=0`), kind);
}

test('PUT of any input over a valid object returns a Status or an object', async () => {
  await using server = await testServer({ gates: { MutatingAdmissionPolicy: true } });
  await fc.assert(
    fc.asyncProperty(cases, fc.constantFrom('', '/status'), async ({ kind, body }, subresource) => {
      if (subresource !== '' && !kind.hasStatus) return;
      const path = await ensure(server, kind);
      checkAnswer(await server.ask('PUT', `${path}${subresource}`, { body: jsonText(body) }), kind);
    }),
    limits,
  );
});

/** Operations of a JSON Patch with a valid structure and any content. */
const operations = fc.array(
  fc.record(
    {
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
      path: fc.constantFrom(
        '',
        '/',
        '/spec',
        '/metadata/labels',
        '/spec/ports/0',
        '/spec/ports/-',
        '/metadata/~2',
        '/kind',
      ),
      from: fc.constantFrom('', '/spec', '/metadata', '/spec/ports/99', '/status'),
      value: fc.jsonValue({ maxDepth: 2 }),
    },
    { requiredKeys: ['op', 'path'] },
  ),
  { maxLength: 5 },
);

test('PATCH of every kind with any input returns a Status or an object', async () => {
  await using server = await testServer({ gates: { MutatingAdmissionPolicy: true } });
  const patches = cases.chain(({ kind, body }) =>
    fc.record({
      kind: fc.constant(kind),
      type: fc.constantFrom(...patchTypes),
      operations,
      body: fc.constant(body),
      isPlain: fc.boolean(),
      subresource: fc.constantFrom('', '/status'),
    }),
  );
  await fc.assert(
    fc.asyncProperty(patches, async ({ kind, type, body, isPlain, ...rest }) => {
      if (rest.subresource !== '' && !kind.hasStatus) return;
      const path = await ensure(server, kind);
      const content = type.includes('json-patch') && isPlain ? rest.operations : body;
      const query = type.includes('apply') ? '?fieldManager=fuzz&force=true' : '';
      const url = `${path}${rest.subresource}${query}`;
      const answer = await server.ask('PATCH', url, { body: jsonText(content), type });
      if (answer.status === 415) assert.ok(kind.custom && type.includes('strategic'));
      checkAnswer(answer, kind);
    }),
    limits,
  );
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

/** Creates the valid object of the kind unless one with its name exists. */
async function ensure(server: TestServer, kind: Kind): Promise<string> {
  const manifest = manifestOf(kind);
  const path = `${collectionOf(kind)}/${manifest.metadata.name}`;
  const read = await server.ask('GET', path);
  if (read.status === 200) {
    const isGoing = read.body.metadata.deletionTimestamp !== undefined;
    if (isGoing) await remove(server, kind, path);
    return path;
  }
  const created = await server.ask('POST', collectionOf(kind), { body: manifest });
  assert.equal(created.status, 201, created.text);
  return path;
}
