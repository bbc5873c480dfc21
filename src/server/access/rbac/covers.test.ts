import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import type { Attributes } from './attributes.ts';
import { countPermissions, describePermissions, permissionsOf, uncovered } from './covers.ts';
import { allows, normalized } from './rules.ts';

const rule = (verbs: string, apiGroups: string, resources: string, resourceNames = ''): PolicyRule => ({
  verbs: verbs.split(' '),
  apiGroups: apiGroups.split(' '),
  resources: resources.split(' '),
  ...(resourceNames === '' ? {} : { resourceNames: resourceNames.split(' ') }),
});
const urls = (verbs: string, paths: string): PolicyRule => ({
  verbs: verbs.split(' '),
  nonResourceURLs: paths.split(' '),
});

interface Row {
  readonly name: string;
  readonly held: readonly PolicyRule[];
  readonly wanted: readonly PolicyRule[];
  /** The uncovered permissions as in the error; '' if there are none. */
  readonly missing: string;
}

const rows: readonly Row[] = [
  { name: 'no rules', held: [], wanted: [], missing: '' },
  { name: 'the same rule', held: [rule('get', '', 'pods')], wanted: [rule('get', '', 'pods')], missing: '' },
  {
    name: 'several rules together',
    held: [rule('get list', '', 'pods'), rule('get', '', 'services'), rule('list', '', 'services')],
    wanted: [rule('get list', '', 'pods services')],
    missing: '',
  },
  {
    name: 'permissions that differ in the verb are one line',
    held: [rule('get', '', 'pods')],
    wanted: [rule('get list watch', '', 'pods')],
    missing: '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
  },
  {
    name: 'lists names separately and merges verbs of several rules',
    held: [rule('get', '', 'pods')],
    wanted: [rule('get list', ' apps', 'secrets pods', 'a b'), rule('watch', '', 'secrets', 'a')],
    missing: [
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list" "watch"]}',
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "list"]}',
    ].join('\n'),
  },
  {
    name: 'all names cover one, but one does not cover all',
    held: [rule('get', '', 'pods'), rule('get', '', 'secrets', 'a')],
    wanted: [rule('get', '', 'pods', 'x'), rule('get', '', 'secrets')],
    missing: '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
  },
  {
    name: 'wildcards cover names, but names never cover a wildcard',
    held: [rule('*', '', 'pods'), rule('get', '*', 'services'), rule('get', 'apps', '*')],
    wanted: [
      rule('get *', '', 'pods'),
      rule('get', 'a *', 'services'),
      rule('get', 'apps', 'x *'),
      rule('*', 'apps', 'x'),
    ],
    missing: '{APIGroups:["apps"], Resources:["x"], Verbs:["*"]}',
  },
  {
    name: 'a subresource of any resource',
    held: [rule('get', '', '*/status')],
    wanted: [rule('get', '', 'pods/status */status pods pods/log')],
    missing: [
      '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}',
    ].join('\n'),
  },
  {
    name: 'paths, one per line',
    held: [urls('get', '/api/* /version')],
    wanted: [urls('get post', '/api/v1 /version /metrics'), urls('get', '/api/*')],
    missing: [
      '{NonResourceURLs:["/api/v1"], Verbs:["post"]}',
      '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
      '{NonResourceURLs:["/metrics"], Verbs:["post"]}',
      '{NonResourceURLs:["/version"], Verbs:["post"]}',
    ].join('\n'),
  },
  {
    name: 'a wildcard path requires a wildcard of the same or a shorter prefix',
    held: [urls('get', '/api/v1/*')],
    wanted: [urls('get', '/api/* /api/v1/*')],
    missing: '{NonResourceURLs:["/api/*"], Verbs:["get"]}',
  },
  {
    name: 'an administrator covers everything',
    held: [rule('*', '*', '*'), urls('*', '*')],
    wanted: [rule('*', '*', '* */x a/b', 'n'), rule('bind escalate', 'x', 'y'), urls('*', '* /a /a*')],
    missing: '',
  },
];

describe('covering rules', () => {
  for (const { name, held, wanted, missing } of rows) {
    test(name, () => assert.equal(describePermissions(uncovered(held, wanted)), missing));
  }
});

const words = (...all: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...all), { maxLength: 3 });
const anyRule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verbs: words('get', 'list', '*'),
    apiGroups: words('', 'apps', '*'),
    resources: words('pods', 'pods/log', '*/log', '*'),
    resourceNames: words('a', 'b'),
  }),
  fc.record({ verbs: words('get', 'list', '*'), nonResourceURLs: words('/a', '/a/b', '/a/*', '*') }),
);
const anyRules = fc.array(anyRule, { maxLength: 4 });

const world: readonly Attributes[] = ['get', 'list', 'other'].flatMap((verb) => [
  ...['', 'apps', 'other'].flatMap((group) =>
    [
      ['pods', ''],
      ['pods', 'log'],
      ['services', 'log'],
      ['other', ''],
    ].flatMap(([resource = '', subresource = '']) =>
      ['', 'a', 'b', 'c'].map((name) => ({
        isResource: true as const,
        verb,
        group,
        resource,
        subresource,
        namespace: '',
        name,
      })),
    ),
  ),
  ...['/a', '/a/b', '/a/b/c', '/x'].map((path) => ({ isResource: false as const, verb, path })),
]);

test('covered rules allow no request that the holder may not make', () => {
  fc.assert(
    fc.property(anyRules, anyRules, (held, wanted) => {
      fc.pre(uncovered(held, wanted).length === 0);
      for (const attributes of world) {
        if (allows(wanted.map(normalized), attributes)) assert.ok(allows(held.map(normalized), attributes));
      }
    }),
    { numRuns: 500 },
  );
});

test('rules cover themselves, and further rules never uncover any', () => {
  fc.assert(
    fc.property(anyRules, anyRules, anyRules, (held, more, wanted) => {
      assert.deepEqual(uncovered(wanted, wanted), []);
      assert.ok(uncovered([...held, ...more], wanted).length <= uncovered(held, wanted).length);
      assert.equal(countPermissions(wanted), permissionsOf(wanted).toArray().length);
    }),
    { numRuns: 500 },
  );
});
