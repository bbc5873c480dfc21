import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Route } from '../routes/route.ts';
import { forward, route, target } from './testing/echo.ts';
import { fairShare } from './fair-share.ts';

const base = route('10.96.0.1', forward(target({ address: '10.1.0.1', port: 80 })));

/** Owner → the number of its routes. */
const routesOf = (owners: Readonly<Record<string, number>>): [string, Route][] =>
  Object.entries(owners).flatMap(([owner, count]) =>
    Array.from({ length: count }, (_, index): [string, Route] => [`${owner} ${index}`, { ...base, owner }]),
  );

for (const { name, owners, most, want } of [
  { name: 'all routes fit', owners: { 'Service a/x': 3 }, most: 3, want: { 'Service a/x': 3 } },
  {
    name: 'a Service of 6,000 ports leaves the shares of the others',
    owners: { 'Service a/big': 6000, 'Service b/x': 2, 'Service c/y': 1 },
    most: 100,
    want: { 'Service a/big': 97, 'Service b/x': 2, 'Service c/y': 1 },
  },
  {
    name: 'many Services of one namespace have the share of one namespace',
    owners: {
      ...Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`Service a/s${index}`, 1])),
      'Service b/x': 60,
    },
    most: 100,
    want: { a: 50, b: 50 },
  },
  {
    name: 'Services of one namespace share evenly',
    owners: { 'Service a/x': 50, 'Service a/y': 2, 'ServiceImport a/z': 50 },
    most: 22,
    want: { 'Service a/x': 10, 'Service a/y': 2, 'ServiceImport a/z': 10 },
  },
  { name: 'none', owners: { 'Service a/x': 3 }, most: 0, want: {} },
]) {
  test(`divides listeners: ${name}`, () => {
    const chosen = fairShare(routesOf(owners), most);
    const of = (prefix: string): number => [...chosen].filter((key) => key.includes(prefix)).length;
    for (const [owner, count] of Object.entries(want))
      assert.equal(of(owner.length === 1 ? ` ${owner}/` : `${owner} `), count);
    assert.ok(chosen.size <= most);
  });
}
