import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { gatesWith } from '../../api/gates.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { PodSettings } from '../testing/objects.ts';
import { applied, nodes, pod, service } from '../testing/objects.ts';
import type { Plan } from './plan.ts';
import { plan } from './plan.ts';

const zones = nodes({ n1: 'a', n2: 'b' });

const planned = (pods: readonly Pod[], slices: readonly EndpointSlice[], max = 4): Plan =>
  plan({
    service: service({ ipFamilies: ['IPv4', 'IPv6'], trafficDistribution: 'PreferSameZone' }),
    pods,
    nodes: zones,
    slices,
    gates: gatesWith(),
    maxEndpointsPerSlice: max,
  });

const named = (name: string, settings: PodSettings = {}): Pod =>
  pod(name, { ips: [`10.0.0.${name.charCodeAt(0)}`], ...settings });

/** The Pods of every IPv4 slice, such as `abc`; a placeholder is ''. */
const held = (slices: readonly EndpointSlice[]): string[] =>
  slices
    .filter(({ addressType }) => addressType === 'IPv4')
    .map(({ endpoints }) => (endpoints ?? []).map(({ targetRef }) => targetRef?.name).join(''));

const podsOf = (names: string): Pod[] => names.split('').map((name) => named(name));

/** Slices that hold these Pods, four at most in each. */
function slicesHolding(contents: readonly string[]): EndpointSlice[] {
  const [template, other] = applied([], planned(podsOf('a'), []));
  assert.ok(template && other);
  const slices = contents.map((names, index) => {
    const [slice] = applied([], planned(podsOf(names), []));
    assert.ok(slice);
    return { ...slice, metadata: { ...slice.metadata, name: `web-${String(index + 1).padStart(4, '0')}` } };
  });
  return [...slices, { ...other, metadata: { ...other.metadata, name: 'web-0099' } }];
}

const cases: readonly {
  readonly name: string;
  readonly before: readonly string[];
  readonly pods: string;
  readonly want: readonly string[];
  readonly writes: number;
}[] = [
  {
    name: 'a deleted Pod changes its own slice',
    before: ['abcd', 'ef'],
    pods: 'abdef',
    want: ['abd', 'ef'],
    writes: 1,
  },
  { name: 'deletes an emptied slice', before: ['abcd', 'e'], pods: 'abcd', want: ['abcd'], writes: 1 },
  {
    name: 'adds a new Pod to a slice that changes anyway',
    before: ['abcd', 'efg'],
    pods: 'abefgx',
    want: ['abx', 'efg'],
    writes: 1,
  },
  {
    name: 'fills the fullest of the changed slices first',
    before: ['abcd', 'efgh'],
    pods: 'abefgx',
    want: ['ab', 'efgx'],
    writes: 2,
  },
  {
    name: 'fills the unchanged slice with the best fit',
    before: ['a', 'bcd', 'ef'],
    pods: 'abcdefx',
    want: ['a', 'bcdx', 'ef'],
    writes: 1,
  },
  {
    name: 'creates a slice for endpoints that fit into none',
    before: ['abc', 'def'],
    pods: 'abcdefxy',
    want: ['abc', 'def', 'xy'],
    writes: 1,
  },
  {
    name: 'creates a slice for a full set of endpoints',
    before: ['a'],
    pods: 'auvwxyz',
    want: ['ayz', 'uvwx'],
    writes: 2,
  },
  { name: 'does not merge half-empty slices', before: ['a', 'b'], pods: 'ab', want: ['a', 'b'], writes: 0 },
  {
    name: 'keeps a duplicate endpoint only in the first slice',
    before: ['ab', 'bc'],
    pods: 'abc',
    want: ['ab', 'c'],
    writes: 1,
  },
];

for (const { name, before, pods, want, writes } of cases) {
  test(`packing: ${name}`, () => {
    const slices = slicesHolding(before);
    const made = planned(podsOf(pods), slices);
    assert.deepEqual(held(applied(slices, made)), want);
    assert.equal(made.create.length + made.update.length + made.remove.length, writes);
  });
}

/** Pods that share ten names. */
const somePods: fc.Arbitrary<Pod[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...'abcdefghij'.split('')),
      ready: fc.boolean(),
      terminating: fc.boolean(),
      node: fc.constantFrom('n1', 'n2'),
      moved: fc.boolean(),
      dual: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  )
  .map((all) =>
    all.map(({ name, moved, dual, ...settings }) => {
      const last = name.charCodeAt(0) + (moved ? 100 : 0);
      return pod(name, { ...settings, ips: [`10.0.0.${last}`, ...(dual ? [`2001:db8::${last}`] : [])] });
    }),
  );

const publishedAddresses = (slices: readonly EndpointSlice[]): string[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])).toSorted();

const settle = (history: readonly (readonly Pod[])[]): EndpointSlice[] =>
  history.reduce<EndpointSlice[]>((slices, pods) => applied(slices, planned(pods, slices, 3)), []);

test('the slices contain every Pod once and the plan is idempotent after any history', () => {
  fc.assert(
    fc.property(fc.array(somePods, { minLength: 1, maxLength: 5 }), (history) => {
      const slices = settle(history);
      const pods = history.at(-1) ?? [];
      const wanted = pods.flatMap(({ status }) => (status.podIPs ?? []).map(({ ip }) => ip ?? '')).toSorted();
      assert.deepEqual(publishedAddresses(slices), wanted);
      assert.ok(slices.every(({ endpoints }) => (endpoints?.length ?? 0) <= 3));
      assert.ok(slices.some(({ addressType }) => addressType === 'IPv6'));
      const again = planned(pods, slices, 3);
      assert.deepEqual([again.create, again.update, again.remove], [[], [], []]);
    }),
    { numRuns: 150 },
  );
});

test('the plan is independent of the order of Pods and slices', () => {
  fc.assert(
    fc.property(fc.array(somePods, { minLength: 1, maxLength: 3 }), somePods, (history, pods) => {
      const slices = settle(history);
      assert.deepEqual(planned(pods.toReversed(), slices.toReversed(), 3), planned(pods, slices, 3));
    }),
    { numRuns: 100 },
  );
});

test('one added, deleted or changed Pod writes at most one slice per family', () => {
  const change = fc.record({ ready: fc.boolean(), terminating: fc.boolean(), node: fc.constantFrom('n1', 'n2') });
  fc.assert(
    fc.property(fc.array(somePods, { minLength: 1, maxLength: 4 }), fc.nat(), change, (history, at, settings) => {
      const slices = settle(history);
      const pods = history.at(-1) ?? [];
      const index = at % (pods.length + 1);
      const old = pods[index];
      const others = pods.filter((each) => each !== old);
      const ips = (old?.status.podIPs ?? [{ ip: '10.0.0.1' }]).map(({ ip }) => ip ?? '');
      const changed = pod(old?.metadata.name ?? 'x', { ips, ...settings });
      for (const next of [others, [...others, changed]]) {
        const { create, update, remove } = planned(next, slices, 3);
        for (const family of ['IPv4', 'IPv6']) {
          const writes = [...create, ...update, ...remove].filter(({ addressType }) => addressType === family);
          assert.ok(writes.length <= 1, `${writes.length} writes`);
        }
      }
    }),
    { numRuns: 150 },
  );
});
