import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import type { Attributes, ResourceAttributes } from './attributes.ts';
import { allows, normalized } from './rules.ts';

const request = (change: Partial<ResourceAttributes>): ResourceAttributes => ({
  isResource: true,
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'shop',
  name: 'web',
  ...change,
});
const path = (url: string, verb = 'get'): Attributes => ({ isResource: false, verb, path: url });
const rule = (change: Partial<PolicyRule>): PolicyRule => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: ['pods'],
  ...change,
});
const urls = (...nonResourceURLs: readonly string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

interface Row {
  readonly name: string;
  readonly rule: PolicyRule;
  readonly allows: readonly Attributes[];
  readonly refuses: readonly Attributes[];
}

const rows: readonly Row[] = [
  {
    name: 'a verb, a group and a resource',
    rule: rule({}),
    allows: [request({}), request({ name: '' }), request({ namespace: '' })],
    refuses: [request({ verb: 'list' }), request({ group: 'apps' }), request({ resource: 'secrets' })],
  },
  {
    name: 'any verb',
    rule: rule({ verbs: ['*'] }),
    allows: [request({ verb: 'deletecollection' }), request({ verb: '*' }), request({ verb: 'bind' })],
    refuses: [request({ resource: 'secrets' })],
  },
  {
    name: 'a * in the request is literal',
    rule: rule({ verbs: ['get', 'list'] }),
    allows: [],
    refuses: [request({ verb: '*' })],
  },
  {
    name: 'any group, and the core group by its empty name',
    rule: rule({ apiGroups: ['*'] }),
    allows: [request({}), request({ group: 'apps' })],
    refuses: [request({ verb: 'list' })],
  },
  {
    name: 'not the subresources of a resource',
    rule: rule({}),
    allows: [],
    refuses: [request({ subresource: 'log' }), request({ subresource: 'status' })],
  },
  {
    name: 'not the resource of a subresource',
    rule: rule({ resources: ['pods/log'] }),
    allows: [request({ subresource: 'log' })],
    refuses: [request({}), request({ subresource: 'status' }), request({ resource: 'services', subresource: 'log' })],
  },
  {
    name: 'a subresource of any resource',
    rule: rule({ resources: ['*/status'] }),
    allows: [request({ subresource: 'status' }), request({ resource: 'services', subresource: 'status' })],
    refuses: [request({}), request({ subresource: 'log' }), request({ resource: '*', subresource: '' })],
  },
  {
    name: 'all subresources with all resources',
    rule: rule({ resources: ['*'] }),
    allows: [request({}), request({ subresource: 'log' })],
    refuses: [request({ group: 'apps' })],
  },
  {
    name: 'no partial wildcard',
    rule: rule({ resources: ['pod*', '*s', 'pods/*'], verbs: ['g*', 'get'] }),
    allows: [],
    refuses: [request({}), request({ subresource: 'log' })],
  },
  {
    name: 'names',
    rule: rule({ resourceNames: ['web', 'api'], verbs: ['get', 'create', 'list'] }),
    allows: [request({}), request({ name: 'api' }), request({ verb: 'list' })],
    refuses: [request({ name: 'db' }), request({ verb: 'create', name: '' }), request({ verb: 'list', name: '' })],
  },
  {
    name: 'names in exact case',
    rule: rule({}),
    allows: [],
    refuses: [request({ resource: 'Pods' }), request({ verb: 'GET' }), request({ resource: 'pods ' })],
  },
  {
    name: 'a path',
    rule: urls('/metrics'),
    allows: [path('/metrics')],
    refuses: [path('/metrics/'), path('/metrics/slis'), path('/metric'), path('/metrics', 'post'), request({})],
  },
  {
    name: 'a path prefix',
    rule: urls('/healthz/*'),
    allows: [path('/healthz/'), path('/healthz/ping')],
    refuses: [path('/healthz'), path('/healthzz')],
  },
  {
    name: 'every path',
    rule: urls('*'),
    allows: [path('/'), path('/anything')],
    refuses: [request({})],
  },
  {
    name: 'no wildcard inside a path',
    rule: urls('/a/*/b'),
    allows: [path('/a/*/b')],
    refuses: [path('/a/x/b')],
  },
  {
    name: 'no path with a rule for resources',
    rule: rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }),
    allows: [request({})],
    refuses: [path('/metrics'), path('/')],
  },
  {
    name: 'nothing without verbs',
    rule: { verbs: null, apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] },
    allows: [],
    refuses: [request({}), path('/')],
  },
];

describe('a rule allows', () => {
  for (const { name, rule: given, allows: allowed, refuses } of rows) {
    test(name, () => {
      for (const attributes of allowed) assert.ok(allows([normalized(given)], attributes), JSON.stringify(attributes));
      for (const attributes of refuses) assert.ok(!allows([normalized(given)], attributes), JSON.stringify(attributes));
    });
  }

  test('requests that any of several rules allows, but no combination of them', () => {
    const rules = [rule({}), rule({ verbs: ['list'], resources: ['services'] })].map(normalized);
    assert.ok(allows(rules, request({ verb: 'list', resource: 'services' })));
    assert.ok(!allows(rules, request({ verb: 'list' })));
    assert.ok(!allows(rules, request({ resource: 'services' })));
    assert.ok(!allows([], request({})));
  });
});

// An independent model: it lists every request in a small universe, and represents a rule by the patterns of the requests
// that it allows.
const verbs = ['get', 'list', 'create', 'bind'];
const groups = ['', 'apps'];
const resources = ['pods', 'services', 'po'];
const subresources = ['', 'status', 'log'];
const names = ['', 'web', 'api'];
const paths = ['/', '/api', '/api/v1', '/metrics', '/apix'];

const lineOf = (attributes: Attributes): string =>
  attributes.isResource
    ? `res|${attributes.verb}|${attributes.group}|${attributes.resource}/${attributes.subresource}|${attributes.name}`
    : `url|${attributes.verb}|${attributes.path}`;

const literal = (text: string): string => RegExp.escape(text);

function linePatterns(given: PolicyRule): RegExp[] {
  const any = (word: string): string => (word === '*' ? '[^|]*' : literal(word));
  const resource = (word: string): string => {
    if (word === '*') return '[^|]*';
    const [head = '', sub] = word.split('/');
    if (sub === undefined) return `${literal(head)}/`;
    return `${head === '*' ? '[^|/]*' : literal(head)}/${literal(sub)}`;
  };
  const given_ = given.resourceNames ?? [];
  return (given.verbs ?? []).flatMap((verb) => [
    ...(given.apiGroups ?? []).flatMap((group) =>
      (given.resources ?? []).flatMap((what) =>
        (given_.length === 0 ? ['[^|]*'] : given_.map(literal)).map(
          (name) => new RegExp(`^res\\|${any(verb)}\\|${any(group)}\\|${resource(what)}\\|${name}$`),
        ),
      ),
    ),
    ...(given.nonResourceURLs ?? []).map((url) => {
      const pattern = url.endsWith('*') ? `${literal(url.slice(0, -1))}.*` : literal(url);
      return new RegExp(`^url\\|${any(verb)}\\|${pattern}$`);
    }),
  ]);
}

const some = (words: readonly string[], max = 3): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...words), { maxLength: max });

/** Rules over a small universe, so that they often match. */
const anyRule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some([...verbs, '*']),
  apiGroups: some([...groups, '*']),
  resources: some([...resources, ...resources.map((what) => `${what}/status`), '*', '*/log', '*/status']),
  resourceNames: some(['web', 'api', 'db'], 2),
  nonResourceURLs: some([...paths, '/api/*', '/api*', '*', '/*'], 2),
});

const anyRequest: fc.Arbitrary<Attributes> = fc.oneof(
  fc.record({
    isResource: fc.constant(true as const),
    verb: fc.constantFrom(...verbs),
    group: fc.constantFrom(...groups),
    resource: fc.constantFrom(...resources),
    subresource: fc.constantFrom(...subresources),
    namespace: fc.constantFrom('', 'shop'),
    name: fc.constantFrom(...names),
  }),
  fc.record({
    isResource: fc.constant(false as const),
    verb: fc.constantFrom(...verbs),
    path: fc.constantFrom(...paths),
  }),
);

test('rules allow exactly what a naive model allows', () => {
  let allowed = 0;
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 4 }), anyRequest, (rules, attributes) => {
      const expected = rules.flatMap(linePatterns).some((pattern) => pattern.test(lineOf(attributes)));
      if (expected) allowed++;
      assert.equal(allows(rules.map(normalized), attributes), expected);
    }),
    { numRuns: 3000 },
  );
  assert.ok(allowed > 100, `the world is too large: only ${allowed} were allowed`);
});
