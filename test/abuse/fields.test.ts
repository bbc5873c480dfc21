import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { service } from '../../src/api/kinds/core/service/schema.ts';
import type { Schema } from '../../src/api/schema/schema.ts';
import { Connection } from '../harness/connection.ts';
import { FairleadServer } from '../harness/server.ts';

const services = '/api/v1/namespaces/default/services';

/** A path in an object: names of fields, and 0 for the first item of a list. */
type Path = readonly (string | 0)[];

/** Every field of a schema, down to a fixed depth. */
function pathsOf(schema: Schema, path: Path = []): Path[] {
  if (schema.type === 'list') return [path, ...pathsOf(schema.items, [...path, 0])];
  if (schema.type === 'map') return [path, ...pathsOf(schema.values, [...path, 'key'])];
  if (schema.type !== 'struct') return [path];
  return [path, ...Object.entries(schema.fields).flatMap(([name, field]) => pathsOf(field.schema, [...path, name]))];
}

const wrong: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e300,
  '',
  'x',
  '\ud800',
  'x'.repeat(10_000),
  [],
  [null],
  [[]],
  {},
  { '': {} },
  JSON.parse('{"__proto__":{"a":1},"constructor":{}}'),
];

const valid = { metadata: { name: 'web', labels: {} }, spec: { ports: [{ port: 80 }], selector: { app: 'web' } } };

/** The object with `value` at `path`. */
function withValue(target: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (step === 0) return [withValue(Array.isArray(target) ? target[0] : undefined, rest, value)];
  const object = typeof target === 'object' && target !== null ? (target as Record<string, unknown>) : {};
  return { ...object, [step]: withValue(object[step], rest, value) };
}

describe('wrong values in every field of a Service', () => {
  let server: FairleadServer;
  before(async () => {
    server = await FairleadServer.start();
  });
  after(() => server[Symbol.asyncDispose]());

  test('each is rejected with a Status, or the result is a valid Service', async (context) => {
    using connection = new Connection(server.port, await server.credentials());
    const paths = pathsOf(service).filter((path) => path.length > 0);
    assert.ok(paths.length > 80, `only ${paths.length} fields`);
    const counts = new Map<number, number>();
    const tryOne = async (path: Path, value: unknown): Promise<void> => {
      const { status, body } = await connection.ask('POST', services, withValue(valid, path, value));
      const where = `${path.join('.')} = ${JSON.stringify(value).slice(0, 50)}: ${JSON.stringify(body).slice(0, 300)}`;
      counts.set(status, (counts.get(status) ?? 0) + 1);
      if (status === 201) {
        const { name } = body.metadata as { readonly name: string };
        assert.equal((await connection.ask('DELETE', `${services}/${name}`)).status, 200, where);
        return;
      }
      // As in Kubernetes, a resourceVersion in a new object is a 500 without details.
      const isKnown = status === 500 && String(body.message).startsWith('resourceVersion should not be set');
      assert.ok(isKnown || [400, 422].includes(status), `${status} ${where}`);
      assert.deepEqual({ kind: body.kind, code: body.code }, { kind: 'Status', code: status }, where);
    };
    for (const path of paths) for (const value of wrong) await tryOne(path, value);
    assert.deepEqual(await connection.ask('GET', '/readyz'), { status: 200, body: 'ok' });
    context.diagnostic(`${paths.length} fields, ${JSON.stringify(Object.fromEntries(counts))}`);
  });
});
