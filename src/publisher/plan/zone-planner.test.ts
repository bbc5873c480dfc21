// What is kept up to date equals what is computed from scratch, after any changes of objects and zones.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Claim, ClaimedSet } from './claim.ts';
import type { Kept, ZoneInput } from './changes.ts';
import { contentAfter } from './changes.ts';
import { desiredSets } from './desired.ts';
import { DesiredIndex } from './desired-index.ts';
import type { RecordSet } from './record-set.ts';
import { recordSet } from './record-set.ts';
import type { RegistryOptions } from './registry.ts';
import { legacyRegistryName, printOwnership, registeredNames, registryName } from './registry.ts';
import { atOnce, claim, lines, planZone } from './testing/objects.ts';
import type { ZonePlan } from './zone-planner.ts';
import { ZonePlanner } from './zone-planner.ts';

const zones = ['example.org', 'sub.example.org'];
const plain: RegistryOptions = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };
const registries: readonly RegistryOptions[] = [
  plain,
  { ...plain, prefix: '%{record_type}-own.' },
  { ...plain, prefix: 'x-', wildcardReplacement: 'any' },
  { ...plain, suffix: '-%{record_type}' },
  { ...plain, suffix: 'a' },
];
const options = { zones, filter: { include: [], exclude: ['no.example.org'] }, registry: plain };

const hosts = [
  'a.example.org',
  'b.example.org',
  '*.b.example.org',
  'no.example.org',
  'x.sub.example.org',
  'a.example.net',
];
const key = fc.constantFrom('one/a', 'one/b', 'two/a', 'two/c');

/** The sets of a host name, with those that belong to it. */
const setsAt = (
  host: string,
  { type, value, hasSrv }: { type: string; value: number; hasSrv: boolean },
): ClaimedSet[] => {
  const values = type === 'A' ? [`192.0.2.${value}`] : [`t${value}.example.net.`];
  const srv = recordSet(`_h._tcp.${host}`, 'SRV', { ttl: 60, values: [`0 100 80 ${host}.`] });
  return [recordSet(host, type, { ttl: 60, values }), ...(hasSrv ? [{ ...srv, hostname: host }] : [])];
};

const claimAt = (at: string, sets: readonly ClaimedSet[], more: Partial<Claim> = {}): Claim =>
  claim(sets, { resource: `service/${at}`, namespace: at.split('/')[0] ?? '', ...more });

const someClaim = fc.record({
  key,
  isGone: fc.boolean(),
  isKept: fc.boolean(),
  since: fc.constantFrom('1', '2', '3'),
  sets: fc.array(
    fc.record({
      host: fc.constantFrom(...hosts),
      type: fc.constantFrom('A', 'CNAME'),
      value: fc.integer({ min: 1, max: 3 }),
      hasSrv: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
});

type SomeClaim = typeof someClaim extends fc.Arbitrary<infer T> ? T : never;

function claimFrom({ key: at, isGone, isKept, since, sets }: SomeClaim): Claim | undefined {
  if (isGone) return undefined;
  if (isKept) return claimAt(at, [], { since, isKept: true });
  const unique = new Map(sets.map((each) => [each.host, each]));
  return claimAt(
    at,
    [...unique].flatMap(([host, each]) => setsAt(host, each)),
    { since },
  );
}

const printed = (
  sets: ReadonlyMap<string, readonly { set: RecordSet; resource: string }[]> | undefined,
): readonly string[] =>
  [...(sets?.values() ?? [])]
    .flat()
    .map(({ set, resource }) => `${lines([set])[0]} ${resource}`)
    .toSorted();

test('the index of what is to exist equals its computation from all claims', () => {
  fc.assert(
    fc.property(fc.array(fc.array(someClaim, { minLength: 1, maxLength: 3 }), { maxLength: 12 }), (steps) => {
      const index = new DesiredIndex(options);
      const claims = new Map<string, Claim>();
      for (const step of steps) {
        const changes = new Map(step.map((each) => [each.key, claimFrom(each)]));
        for (const [at, each] of changes) {
          if (each === undefined) claims.delete(at);
          else claims.set(at, each);
        }
        const before = new Map(zones.map((zone) => [zone, new Map(index.zones.get(zone))]));
        const changed = index.update(changes);
        const whole = desiredSets(claims.values(), options);
        for (const zone of zones) {
          assert.deepEqual(printed(index.zones.get(zone)), printed(whole.zones.get(zone)));
          const names = new Set([...(before.get(zone)?.keys() ?? []), ...(index.zones.get(zone)?.keys() ?? [])]);
          for (const name of names)
            if (!isSame(before.get(zone)?.get(name), index.zones.get(zone)?.get(name)))
              assert.ok(changed.get(zone)?.has(name), `${name} is reported`);
        }
        const text = (all: typeof whole.refusals): readonly string[] =>
          all.map(({ resource, message }) => `${resource} ${message}`).toSorted();
        assert.deepEqual(text(index.refusals), text(whole.refusals));
        assert.deepEqual(index.kept, whole.kept);
      }
    }),
  );
});

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

describe('the names whose registry record may be at a name', () => {
  for (const registry of registries)
    test(`include those that have it there, with ${JSON.stringify(registry)}`, () => {
      const label = fc.constantFrom('a', 'aa', 'a-a', '*', 'any', '_k', 'x-a', 'srv', 'own', 'a-own');
      fc.assert(
        fc.property(
          fc.array(label, { minLength: 1, maxLength: 4 }),
          fc.constantFrom('A', 'AAAA', 'CNAME', 'SRV'),
          (labels, type) => {
            const name = labels.join('.');
            assert.ok(registeredNames(registryName(name, type, registry), registry).includes(name));
            assert.ok(registeredNames(legacyRegistryName(name, registry), registry).includes(name));
          },
        ),
      );
    });
});

/** A set of the zone that another program writes or removes. */
const someSet = fc.record({
  name: fc.constantFrom(...hosts.slice(0, 3), '_h._tcp.a.example.org', 'c.example.org'),
  type: fc.constantFrom('A', 'CNAME', 'SRV', 'MX', 'NS', 'TXT for A', 'TXT for SRV', 'old TXT'),
  owner: fc.constantFrom('me', 'other'),
  isGone: fc.boolean(),
});

type SomeSet = typeof someSet extends fc.Arbitrary<infer T> ? T : never;

const valueOf: Readonly<Record<string, string>> = {
  A: '192.0.2.1',
  CNAME: 't1.example.net.',
  SRV: '0 100 80 a.example.org.',
  MX: '10 mail.example.org.',
  NS: 'ns.example.net.',
};

/** The set, or the registry record of one. */
function setFrom({ name, type, owner }: SomeSet, registry: RegistryOptions): RecordSet {
  const [, , of] = type.split(' ');
  const ownership = printOwnership({ owner, resource: 'service/one/a', others: new Map() });
  if (type === 'old TXT') return recordSet(legacyRegistryName(name, registry), 'TXT', { ttl: 60, values: [ownership] });
  if (of !== undefined) return recordSet(registryName(name, of, registry), 'TXT', { ttl: 60, values: [ownership] });
  return recordSet(name, type, { ttl: 60, values: [valueOf[type] ?? ''] });
}

const step = fc.oneof(
  fc.record({ claims: fc.array(someClaim, { maxLength: 2 }) }),
  fc.record({ sets: fc.array(someSet, { maxLength: 3 }) }),
  fc.record({ apply: fc.constant(true) }),
  fc.record({ allImports: fc.boolean() }),
);

const comparable = ({ changes, refusals, owned, ownerMismatches }: ZonePlan): unknown => ({
  changes: changes.map((each) => JSON.stringify(each)).toSorted(),
  refusals: refusals.map(({ resource, message }) => `${resource} ${message}`).toSorted(),
  counts: [owned, ownerMismatches].map((counts) =>
    [...counts].filter(([, count]) => count > 0).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ),
});

describe('the plan of a zone equals its computation from scratch', () => {
  for (const registry of registries)
    test(`with ${JSON.stringify(registry)}`, () => {
      fc.assert(
        fc.property(
          fc.array(step, { maxLength: 15 }),
          fc.constantFrom('sync', 'upsert-only', 'create-only'),
          (steps, policy) => {
            const zone = 'example.org';
            const index = new DesiredIndex({ ...options, registry });
            const planner = new ZonePlanner();
            let content: ZoneInput['content'] = new Map();
            let kept: Kept = { resources: index.kept, allImports: false };
            let plan: ZonePlan | undefined;
            for (const each of steps) {
              const desired = new Set<string>();
              const changed = new Set<string>();
              if ('claims' in each) {
                const names = index.update(new Map(each.claims.map((one) => [one.key, claimFrom(one)])));
                for (const name of names.get(zone) ?? []) desired.add(name);
              } else if ('sets' in each) {
                for (const one of each.sets) {
                  const set = setFrom(one, registry);
                  const others = (content.get(set.name) ?? []).filter(({ type }) => type !== set.type);
                  content = new Map([...content, [set.name, one.isGone ? others : [...others, set]]]);
                  changed.add(set.name);
                }
              } else if ('apply' in each) {
                const changes = plan?.changes ?? [];
                content = contentAfter(content, changes);
                for (const { before, after } of changes.flatMap((one) => one.changes))
                  changed.add((after ?? before)?.name ?? '');
              }
              kept = { resources: index.kept, allImports: 'allImports' in each ? each.allImports : kept.allImports };
              const input = {
                zone,
                desired: index.zones.get(zone) ?? new Map(),
                kept,
                content,
                registry,
                policy,
              } as const;
              plan = atOnce(planner.update(input, { desired, content: changed }));
              assert.deepEqual(comparable(plan), comparable(planZone(input)));
            }
          },
        ),
      );
    });
});
