// Mutates objects for fuzz tests.

import fc from 'fast-check';

import { isJsonObject, setField } from '../../api/schema/json-object.ts';

/** Unexpected values. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    0,
    -1,
    1.5,
    65_536,
    2 ** 31,
    2 ** 53,
    1e300,
    true,
    [],
    {},
    [null],
    [[]],
    [{}],
    { '': '' },
    'None',
    '0x10',
    '999999999999999999999',
    '\0',
    '\ud800',
    'é'.repeat(300),
    'a'.repeat(70_000),
    '../../etc/passwd',
    '2026-13-01T00:00:00Z',
    '1Gi1',
    '$patch',
    '127.0.0.1',
    '::ffff:1.2.3.4',
    'IPv6',
    'NodePort',
    'ExternalName',
    'ClusterIP',
    'TCP',
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
    { toString: 1, valueOf: 1, hasOwnProperty: 1, length: 3, toJSON: 'x' },
    { $patch: 'delete' },
    { $patch: 'replace' },
    { $patch: 'merge', name: 'x' },
    { $retainKeys: ['a'] },
    { '$setElementOrder/ports': [{ port: 80 }] },
    { '$deleteFromPrimitiveList/finalizers': ['a'] },
    { 'f:spec': {} },
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);

type Mutation = (value: unknown) => unknown;

/** A mutation at a random path. */
const mutation: fc.Arbitrary<Mutation> = fc
  .record({
    steps: fc.array(fc.nat(), { maxLength: 7 }),
    how: fc.constantFrom('replace', 'remove', 'nest', 'listed', 'repeat', 'add', 'rename'),
    value: junk,
    name: fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      'metadata',
      'kind',
      '',
      'x',
      'status',
      'name',
      '$patch',
    ),
  })
  .map(
    ({ steps, how, value, name }): Mutation =>
      (target) =>
        changedAt(target, steps, (found) => {
          switch (how) {
            case 'nest':
              return { [name]: found };
            case 'listed':
              return [found];
            case 'repeat':
              return Array.isArray(found) ? [...found, ...found] : [found, found];
            case 'add':
              return isJsonObject(found) ? withField(found, name, value) : value;
            case 'rename':
              return isJsonObject(found)
                ? Object.fromEntries(Object.entries(found).map(([, item]) => [name, item]))
                : value;
            case 'remove':
              return undefined;
            case 'replace':
              return value;
          }
        }),
  );

/** `base` with up to four mutations. */
export const mutated = (base: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(base, fc.array(mutation, { maxLength: 4 }))
    .map(([value, mutations]) => mutations.reduce((current, mutate) => mutate(current), value));

function changedAt(target: unknown, steps: readonly number[], change: Mutation): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof target !== 'object' || target === null) return change(target);
  if (Array.isArray(target)) {
    if (target.length === 0) return change(target);
    return target.map((item: unknown, index) =>
      index === step % target.length ? changedAt(item, rest, change) : item,
    );
  }
  const entries = Object.entries(target);
  if (entries.length === 0) return change(target);
  return Object.fromEntries(
    entries.map(([key, item], index) => [key, index === step % entries.length ? changedAt(item, rest, change) : item]),
  );
}

function withField(object: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  const copy = { ...object };
  setField(copy, name, value);
  return copy;
}
