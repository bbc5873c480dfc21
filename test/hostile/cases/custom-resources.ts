// Bodies of a custom kind, whose schema has lists, sets, maps, patterns and CEL rules (`work/custom-kinds.ts`).

import type { HostileCase, Place } from '../case.ts';
import { crowd, request } from '../case.ts';
import type { HostileRequest } from '../client.ts';
import { collections } from '../stage.ts';

const name = 'hostile';
const type = { apiVersion: 'hostile.example.org/v1', kind: 'Long' };

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const fieldsOf = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(many(count, (index) => [`key-${index}`, value]));

const create =
  (spec: () => object) =>
  ({ namespace }: Place): HostileRequest => ({
    method: 'POST',
    path: collections.longs(namespace),
    body: JSON.stringify({ ...type, metadata: { name }, spec: spec() }),
  });

const apply =
  (spec: () => object) =>
  ({ namespace }: Place): HostileRequest => ({
    method: 'PATCH',
    path: `${collections.longs(namespace)}/${name}?fieldManager=hostile&force=true`,
    type: 'application/apply-patch+yaml',
    body: JSON.stringify({ ...type, metadata: { name }, spec: spec() }),
  });

const stored = (spec: () => object) => (place: Place) => [create(spec)(place)];

const ports = (count: number): object[] => many(count, (index) => ({ port: index + 1, protocol: 'TCP' }));

export const customResources: readonly HostileCase[] = [
  request(
    'a custom resource with 90,000 unknown fields',
    create(() => fieldsOf(90_000, 0)),
  ),
  request(
    'a custom resource with a list of 30,000 keys',
    create(() => ({ ports: ports(30_000) })),
  ),
  request(
    'a custom resource with a list of 30,000 equal keys',
    create(() => ({ ports: many(30_000, () => ({ port: 1, protocol: 'TCP' })) })),
  ),
  request(
    'a custom resource with a set of 90,000 items',
    create(() => ({ set: many(90_000, (index) => `item-${index}`) })),
  ),
  request(
    'a custom resource with a set of 90,000 wrong items',
    create(() => ({ set: many(90_000, (index) => index) })),
  ),
  request(
    'a custom resource with a text of 2.9 MB for a pattern',
    create(() => ({ pattern: `${'ab0'.repeat(970_000)}!` })),
  ),
  request(
    'a custom resource with 45,000 items that fit no alternative',
    create(() => ({ choices: many(45_000, () => ({})) })),
  ),
  request(
    'a custom resource with 5,000 items for each rule',
    create(() => ({
      ruledList: many(5000, (index) => `item-${index}`),
      ruledItems: many(5000, (index) => ({ name: `item-${index}` })),
      ruledPorts: many(5000, (index) => ({ name: `item-${index}`, value: 'a' })),
      ruledMap: fieldsOf(5000, 'a'),
    })),
  ),
  request('a custom resource with 100,000 levels in a field of any content', ({ namespace }) => ({
    method: 'POST',
    path: collections.longs(namespace),
    body: `{"apiVersion":"${type.apiVersion}","kind":"Long","metadata":{"name":"${name}"},"spec":{"any":${'{"a":'.repeat(100_000)}0${'}'.repeat(100_000)}}}`,
  })),
  request(
    'an apply of 20,000 keys of a custom resource over 30,000',
    apply(() => ({ ports: ports(20_000).reverse() })),
    stored(() => ({ ports: ports(30_000) })),
  ),
  crowd(
    'a custom resource with a set of 90,000 items',
    20,
    create(() => ({ set: many(90_000, (index) => `item-${index}`) })),
  ),
];
