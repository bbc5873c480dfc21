import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { isStatusError } from '../../api/errors.ts';
import { service } from '../../api/kinds/core/service/schema.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../api/metadata.ts';
import { condition, objectSchema } from '../../api/metadata.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { always, listMap, map, optional, string, struct } from '../../api/schema/schema.ts';
import type { Apply } from './apply.ts';
import { runToEnd } from '../limits/time-slicer.ts';
import { applyConfiguration } from './apply.ts';
import { fieldSetOf } from './fields/set.ts';
import type { JsonObject } from './json-value.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { lastAppliedAnnotation } from './last-applied.ts';
import { trackUpdate, withManagedFields } from './managed.ts';

const configMap = objectSchema('test.ConfigMap', 'Data.', { data: optional(2, map(string), 'Its data.') });
const exported = objectSchema('test.Export', 'An export.', {
  status: always(
    2,
    struct('test.ExportStatus', 'Its state.', {
      conditions: optional(1, listMap(condition, ['type'], { mergeKey: 'type' }), 'Its conditions.'),
    }),
    'Its state.',
  ),
});
const status = fieldSetOf(['status']);

const now = '2024-05-01T10:00:00Z';
const later = '2024-05-01T11:00:00Z';

/** Applies a configuration with `spec` and `metadata` to a Service `web`. */
function apply(live: JsonObject | undefined, spec: JsonObject | undefined, options: Partial<Apply> = {}): JsonObject {
  const applying = applyConfiguration({
    schema: service,
    live: asObject(live),
    config: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, ...(spec ? { spec } : {}) },
    manager: 'alice',
    force: false,
    apiVersion: 'v1',
    resetFields: status,
    now,
    ...options,
  });
  return runToEnd(applying);
}

const asObject = (value: JsonObject | undefined): ApiObject | undefined => value as unknown as ApiObject | undefined;

function update(live: JsonObject, next: JsonObject, manager: string): JsonObject {
  const [stored, sent] = [asObject(live), asObject(next)];
  assert.ok(stored !== undefined && sent !== undefined);
  const entries = trackUpdate({ schema: service, live: stored, next: sent, manager, apiVersion: 'v1', now: later });
  return { ...withManagedFields(sent, entries) };
}

function managersOf(object: JsonObject): Record<string, unknown> {
  return Object.fromEntries(
    entriesOf(object).map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1]),
  );
}

const entriesOf = (object: JsonObject): readonly ManagedFieldsEntry[] => asObject(object)?.metadata.managedFields ?? [];

function refusal(run: () => unknown): { code: unknown; reason: unknown; message: unknown; details: unknown } {
  try {
    run();
  } catch (error) {
    assert.ok(isStatusError(error), String(error));
    const { code, reason, message, details } = error.status;
    return { code, reason, message, details };
  }
  return assert.fail('nothing was rejected');
}

const http = { port: 80, targetPort: 8080 };
const dns = { port: 53, protocol: 'UDP' };

describe('a first apply', () => {
  test('creates the object and owns its fields', () => {
    const object = apply(undefined, { type: 'ClusterIP', ports: [http], selector: { app: 'web' } });
    assert.deepEqual(object, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        managedFields: [
          {
            manager: 'alice',
            operation: 'Apply',
            apiVersion: 'v1',
            time: now,
            fieldsType: 'FieldsV1',
            fieldsV1: {
              'f:spec': {
                'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:targetPort': {} } },
                'f:selector': {},
                'f:type': {},
              },
            },
          },
        ],
      },
      spec: { type: 'ClusterIP', ports: [http], selector: { app: 'web' } },
    });
  });

  test('of an untracked object gives its fields to before-first-apply', () => {
    const live = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', uid: 'u' }, spec: { type: 'NodePort' } };
    const object = apply(live, { sessionAffinity: 'None' });
    assert.deepEqual(managersOf(object), {
      'alice Apply': { 'f:spec': { 'f:sessionAffinity': {} } },
      'before-first-apply Update': { 'f:spec': { 'f:type': {} } },
    });
    assert.equal(
      refusal(() => apply(live, { type: 'ClusterIP' })).message,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.type',
    );
  });

  test('does not own reset fields', () => {
    const object = apply(undefined, undefined, {
      config: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, status: { conditions: [{ type: 'A' }] } },
    });
    assert.deepEqual(managersOf(object), {});
  });
});

describe('applying again', () => {
  const first = apply(undefined, { type: 'ClusterIP', ports: [http, dns], selector: { app: 'web' } });

  test('the same configuration changes nothing, not even a time', () => {
    assert.equal(
      apply(first, { type: 'ClusterIP', ports: [http, dns], selector: { app: 'web' } }, { now: later }),
      first,
    );
  });

  test('without a field removes the field', () => {
    const object = apply(first, { ports: [http] }, { now: later });
    assert.deepEqual(object['spec'], { ports: [http] });
    assert.equal(entriesOf(object)[0]?.time, later);
  });

  test('without any field of a container removes the container', () => {
    const object = apply(first, undefined);
    assert.equal(object['spec'], undefined);
    assert.deepEqual(managersOf(object), {});
  });

  test('replaces an atomic map as a whole', () => {
    const object = apply(first, { ports: [http, dns], selector: { tier: 'front' } });
    assert.deepEqual(object['spec'], { ports: [http, dns], selector: { tier: 'front' } });
  });

  test('distinguishes TCP and UDP on one port', () => {
    const both = [
      { port: 53, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ];
    const object = apply(first, { ports: both });
    assert.deepEqual(object['spec'], { ports: both });
  });

  const spec = isJsonObject(first['spec']) ? first['spec'] : {};

  test('keeps fields that others added', () => {
    const edited = update(first, { ...first, spec: { ...spec, externalName: 'x' } }, 'edit');
    assert.deepEqual(apply(edited, undefined)['spec'], { externalName: 'x' });
  });

  test('without an item removes it with the fields that an update added to it', () => {
    const ports = [{ ...http, nodePort: 30080 }, dns];
    const edited = update(first, { ...first, spec: { ...spec, ports } }, 'allocator');
    const object = apply(edited, { ports: [dns] });
    assert.deepEqual(object['spec'], { ports: [dns] });
    assert.deepEqual(Object.keys(managersOf(object)), ['alice Apply']);
  });

  test('without an item keeps the fields that another applier owns', () => {
    const shared = apply(first, { ports: [{ port: 80, name: 'web' }] }, { manager: 'bob' });
    assert.deepEqual(apply(shared, { ports: [dns] })['spec'], { ports: [{ port: 80, name: 'web' }, dns] });
  });
});

describe('two appliers', () => {
  const byAlice = apply(undefined, { type: 'ClusterIP', ports: [http] });
  const byBob = { manager: 'bob', now: later };

  test('share a field with equal values', () => {
    const shared = apply(byAlice, { type: 'ClusterIP' }, byBob);
    assert.deepEqual(managersOf(shared), {
      'alice Apply': {
        'f:spec': {
          'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:targetPort': {} } },
          'f:type': {},
        },
      },
      'bob Apply': { 'f:spec': { 'f:type': {} } },
    });

    const givenUp = apply(shared, { ports: [http] });
    assert.deepEqual(givenUp['spec'], { type: 'ClusterIP', ports: [http] }, 'bob still owns the type');
    assert.deepEqual(apply(givenUp, undefined, byBob)['spec'], { ports: [http] }, 'it has no owner now');
  });

  test('conflict on different values', () => {
    assert.deepEqual(
      refusal(() => apply(byAlice, { type: 'NodePort' }, byBob)),
      {
        code: 409,
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "alice": .spec.type',
        details: {
          causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.spec.type' }],
        },
      },
    );
  });

  test('are all listed if several conflict', () => {
    const spec = isJsonObject(byAlice['spec']) ? byAlice['spec'] : {};
    const edited = update(
      byAlice,
      { ...byAlice, spec: { ...spec, type: 'NodePort', sessionAffinity: 'None' } },
      'edit',
    );
    const wanted = { type: 'LoadBalancer', sessionAffinity: 'ClientIP', ports: [{ port: 80, targetPort: 1 }] };
    assert.equal(
      refusal(() => apply(edited, wanted, byBob)).message,
      [
        'Apply failed with 3 conflicts: conflicts with "alice":',
        '- .spec.ports[port=80,protocol="TCP"].targetPort',
        'conflicts with "edit" using v1:',
        '- .spec.sessionAffinity',
        '- .spec.type',
      ].join('\n'),
    );
  });

  test('take fields with force', () => {
    const forced = apply(byAlice, { type: 'NodePort' }, { ...byBob, force: true });
    assert.deepEqual(forced['spec'], { type: 'NodePort', ports: [http] });
    assert.deepEqual(managersOf(forced)['bob Apply'], { 'f:spec': { 'f:type': {} } });
    assert.equal(
      refusal(() => apply(forced, { type: 'ClusterIP', ports: [http] })).message,
      'Apply failed with 1 conflict: conflict with "bob": .spec.type',
    );
  });

  test('lose a field to an update that changes it', () => {
    const spec = isJsonObject(byAlice['spec']) ? byAlice['spec'] : {};
    const edited = update(byAlice, { ...byAlice, spec: { ...spec, type: 'NodePort' } }, 'edit');
    assert.deepEqual(managersOf(edited)['edit Update'], { 'f:spec': { 'f:type': {} } });
    assert.deepEqual(apply(edited, { ports: [http] })['spec'], { type: 'NodePort', ports: [http] });
  });

  test('have one entry per subresource', () => {
    const config = (reason: string): JsonObject => ({
      apiVersion: 'test/v1',
      kind: 'Export',
      metadata: { name: 'web' },
      status: { conditions: [{ type: 'Ready', status: 'True', reason, message: '', lastTransitionTime: now }] },
    });
    const through = {
      schema: exported,
      apiVersion: 'test/v1',
      subresource: 'status',
      resetFields: fieldSetOf(['spec']),
    };
    const object = apply(undefined, undefined, { ...through, config: config('One') });
    assert.equal(entriesOf(object)[0]?.subresource, 'status');
    assert.equal(
      refusal(() => apply(object, undefined, { ...through, ...byBob, config: config('Two') })).message,
      'Apply failed with 1 conflict: conflict with "alice" with subresource "status": .status.conditions[type="Ready"].reason',
    );
  });
});

describe('managers of other versions', () => {
  const versions = new Map([['v1', service]]);
  const config = { apiVersion: 'v0', kind: 'Service', metadata: { name: 'web' }, spec: { type: 'ClusterIP' } };
  const live = apply(undefined, undefined, { apiVersion: 'v0', config });

  test('fail an apply if there is no such version', () => {
    const { code, message } = refusal(() => apply(live, { type: 'NodePort' }, { versions }));
    assert.deepEqual([code, message], [500, 'request to convert CR to an invalid group/version: v0']);
  });

  test('fail an apply with all fields that the version lacks', () => {
    const older = new Map<string, StructSchema>([...versions, ['v0', configMap]]);
    const stored = { ...live, spec: { type: 'ClusterIP' }, status: {} };
    const { code, message } = refusal(() => apply(stored, { type: 'NodePort' }, { versions: older }));
    const errors = 'errors:\n  .spec: field not declared in schema\n  .status: field not declared in schema';
    assert.deepEqual([code, message], [500, errors]);
  });
});

describe('the order of lists', () => {
  const port = (...numbers: readonly number[]): JsonObject[] => numbers.map((number) => ({ port: number }));
  const cases = [
    { name: 'new items follow', live: [1, 2], config: [2, 3], want: [1, 2, 3] },
    { name: 'items of the configuration keep its order', live: [1, 2, 3], config: [3, 1], want: [2, 3, 1] },
    { name: 'a new item comes before the shared one it precedes', live: [1, 2], config: [3, 2], want: [1, 3, 2] },
    {
      name: 'live items keep their place among shared ones',
      live: [1, 2, 3, 4],
      config: [1, 4, 5],
      want: [1, 2, 3, 4, 5],
    },
    {
      name: 'reordered shared items wait for their turn',
      live: [1, 2, 9],
      config: [2, 1, 7, 8],
      want: [2, 9, 1, 7, 8],
    },
  ];
  for (const { name, live, config, want } of cases) {
    test(name, () => {
      const before = apply(undefined, { ports: port(...live) }, { manager: 'bob' });
      assert.deepEqual(apply(before, { ports: port(...config) })['spec'], { ports: port(...want) });
    });
  }
});

describe('rejected configurations', () => {
  const head = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } };
  const where = 'failed to create typed patch object (shop/web; /v1, Kind=Service): ';
  const cases = [
    {
      name: 'with a field that is not declared',
      config: { ...head, spec: { foo: 1 } },
      want: { code: 500, message: `${where}.spec.foo: field not declared in schema` },
    },
    {
      name: 'with duplicate items',
      config: { ...head, spec: { ports: [http, { port: 80, protocol: 'TCP' }] } },
      want: { code: 500, message: `${where}.spec.ports: duplicate entries for key [port=80,protocol="TCP"]` },
    },
    {
      name: 'with a value of another type',
      config: { ...head, spec: { ports: [{ port: 'web' }] } },
      want: {
        code: 500,
        message: `${where}.spec.ports[port="web",protocol="TCP"].port: expected numeric (int or float), got string`,
      },
    },
    {
      name: 'with several mistakes',
      config: { ...head, spec: { type: 1, selector: [] } },
      want: {
        code: 500,
        message: `${where}errors:\n  .spec.type: expected string, got &value.valueUnstructured{Value:1}\n  .spec.selector: expected map, got &{[]}`,
      },
    },
    {
      name: 'with managers',
      config: { ...head, metadata: { name: 'web', managedFields: [] } },
      want: { code: 400, message: 'metadata.managedFields must be nil' },
    },
    {
      name: 'of another version',
      config: { ...head, apiVersion: 'v2' },
      want: {
        code: 400,
        message: 'Incorrect version specified in apply patch. Specified patch version: v2, expected: v1',
      },
    },
  ];
  for (const { name, config, want } of cases) {
    test(name, () => {
      const { code, message } = refusal(() => apply(undefined, undefined, { config }));
      assert.deepEqual({ code, message }, want);
    });
  }
});

describe('kubectl migrates from client-side apply', () => {
  const lastApplied = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { annotations: {}, name: 'web' },
    spec: { type: 'ClusterIP' },
  };
  const sent = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', annotations: { [lastAppliedAnnotation]: `${JSON.stringify(lastApplied)}\n` } },
    spec: { type: 'ClusterIP' },
  };
  const created = (() => {
    const next = asObject(sent);
    assert.ok(next);
    const entries = trackUpdate({
      schema: service,
      live: undefined,
      next,
      manager: 'kubectl-client-side-apply',
      apiVersion: 'v1',
      now,
    });
    return { ...withManagedFields(next, entries) };
  })();

  test('without conflicts, and updates the annotation', () => {
    const object = apply(created, { type: 'NodePort' }, { manager: 'kubectl' });
    assert.deepEqual(object['spec'], { type: 'NodePort' });
    assert.equal(
      asObject(object)?.metadata.annotations?.[lastAppliedAnnotation],
      '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"type":"NodePort"}}\n',
    );
  });

  test('but not fields that another manager has changed since', () => {
    const edited = update(created, { ...created, spec: { type: 'LoadBalancer' } }, 'edit');
    assert.equal(
      refusal(() => apply(edited, { type: 'NodePort' }, { manager: 'kubectl' })).message,
      'Apply failed with 1 conflict: conflict with "edit" using v1: .spec.type',
    );
  });

  test('under no other name', () => {
    assert.equal(refusal(() => apply(created, { type: 'NodePort' })).code, 409);
  });
});

describe('properties', () => {
  const key = fc.constantFrom('a', 'b', 'c', '__proto__');
  // The decoder drops empty maps, so they do not round-trip.
  const filled = { minKeys: 1, noNullPrototype: true };
  const data = fc.dictionary(key, fc.constantFrom('1', '2'), filled);
  const labels = fc.dictionary(key, fc.constantFrom('x', 'y'), filled);
  const config = fc.record({ data, labels }, { requiredKeys: [] }).map(({ data: entries, labels: pairs }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', ...(pairs ? { labels: pairs } : {}) },
    ...(entries ? { data: entries } : {}),
  }));
  const step = fc.record({ config, manager: fc.constantFrom('alice', 'bob', 'kubectl') });
  const applied = (
    live: JsonObject | undefined,
    { config: sent, manager }: { config: JsonObject; manager: string },
  ): JsonObject => apply(live, undefined, { schema: configMap, config: sent, manager, force: true });

  test('apply is idempotent', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        let live: JsonObject | undefined;
        for (const next of steps) {
          live = applied(live, next);
          assert.equal(applied(live, next), live);
        }
      }),
    );
  });

  test('the only applier gets exactly what it last applied', () => {
    fc.assert(
      fc.property(fc.array(config, { minLength: 1, maxLength: 5 }), (configs) => {
        let live: JsonObject | undefined;
        for (const next of configs) live = applied(live, { config: next, manager: 'alice' });
        const last: JsonObject = configs.at(-1) ?? {};
        assert.deepEqual(contentOf(live ?? {}), contentOf(last));
      }),
    );
  });

  /** Data and labels, with empty maps removed. */
  function contentOf(object: JsonObject): unknown {
    const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
    return { data: object['data'] ?? {}, labels: metadata['labels'] ?? {} };
  }
});
