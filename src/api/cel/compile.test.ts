import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { celTypeOf, celValueOf } from '../structural/cel-types.ts';
import type { JsonSchema } from '../structural/json-schema.ts';
import { CelCheckError, compileExpression } from './compile.ts';
import { Scope } from './node.ts';
import { CelError, CostLimitError } from './values.ts';

const schema: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 63 },
    'dash-ed': { type: 'string', maxLength: 10 },
    namespace: { type: 'string', maxLength: 10 },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    enabled: { type: 'boolean' },
    port: { 'x-kubernetes-int-or-string': true },
    when: { type: 'string', format: 'date-time' },
    timeout: { type: 'string', format: 'duration' },
    tags: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 20 } },
    set: { type: 'array', maxItems: 10, 'x-kubernetes-list-type': 'set', items: { type: 'string', maxLength: 20 } },
    labels: { type: 'object', maxProperties: 10, additionalProperties: { type: 'string', maxLength: 20 } },
    rules: {
      type: 'array',
      maxItems: 5,
      items: { type: 'object', properties: { name: { type: 'string', maxLength: 10 }, weight: { type: 'integer' } } },
    },
    raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

const self = {
  name: 'web',
  'dash-ed': 'x',
  namespace: 'n',
  count: 3,
  ratio: 1,
  enabled: true,
  port: 80,
  when: '2026-01-02T03:04:05.5Z',
  timeout: '1h30m',
  tags: ['a', 'b', 'b'],
  set: ['x', 'y'],
  labels: { app: 'web', tier: 'front' },
  rules: [
    { name: 'one', weight: 1 },
    { name: 'two', weight: 2 },
  ],
  raw: { any: 1 },
};

function evaluate(text: string): unknown {
  const type = celTypeOf(schema);
  assert.ok(type);
  const program = compileExpression(text, new Map([['self', type]]));
  const scope = new Scope(new Map([['self', celValueOf(self, schema)]]), 1_000_000);
  const result = program.run(scope);
  // Comparisons of nested values cost a little more than the estimate.
  assert.ok(scope.spent <= program.cost * 1.1, `${text} cost ${scope.spent}, estimated ${program.cost}`);
  return result;
}

suite('true expressions', () => {
  const table = [
    '1 + 2 * 3 == 7 && -7 / 2 == -3 && 7 % 3 == 1',
    '1.5 + 1.5 == 3.0 && dyn(1) == 1.0 && 2 > 1.5 && 0x10 == 16 && 3u < 4',
    '"a" + \'b\' == "ab" && r"\\d" == "\\\\d" && """a"b""" == "a\\"b" && b"\\xff".size() == 1',
    'self.name == "web" && self.count == 3 && self.ratio == 1.0 && self.enabled',
    'self.dash__dash__ed == "x" && self.__namespace__ == "n"',
    'has(self.name) && !has(self.labels.missing)',
    'self.port == 80 && type(self.port) == int && (type(self.port) == string || self.port > 79)',
    'self.when > timestamp("2026-01-01T00:00:00Z") && self.when.getFullYear() == 2026 && self.when.getHours("+02:00") == 5',
    'self.timeout == duration("90m") && self.timeout.getMinutes() == 90 && duration("1.5h") == self.timeout',
    '"b" in self.tags && !("z" in self.tags) && "app" in self.labels && self.labels["app"] == "web"',
    'self.tags.all(t, t.size() == 1) && self.tags.exists(t, t == "b") && self.tags.exists_one(t, t == "a")',
    'self.tags.map(t, t + t) == ["aa", "bb", "bb"] && self.tags.filter(t, t != "a").size() == 2',
    'self.rules.all(r, r.weight > 0 && self.rules.exists(s, s.name == r.name))',
    'self.labels.all(k, k.size() > 2) && self.labels.all(k, v, v.startsWith("w") || v.startsWith("f"))',
    'self.rules.map(r, r.weight).sum() == 3 && self.rules.map(r, r.weight).max() == 2 && [3, 1, 2].sort() == [1, 2, 3]',
    'self.set == ["y", "x"] && self.tags != ["b", "a", "b"]',
    'self.tags.isSorted() && self.tags.indexOf("b") == 1 && self.tags.lastIndexOf("b") == 2 && self.tags.distinct().size() == 2',
    'sets.contains(self.tags, ["a"]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])',
    'self.labels.?missing.orValue("x") == "x" && self.?name.value() == "web" && self.labels[?"app"].hasValue()',
    'optional.of(1).optMap(v, v + 1).value() == 2 && optional.none().orValue(3) == 3 && !optional.none().hasValue()',
    '[1, 2].transformList(i, v, i + v) == [1, 3] && {"a": 1}.transformMap(k, v, v + 1) == {"a": 2}',
    '"Hello".lowerAscii() == "hello" && "a,b".split(",") == ["a", "b"] && ["a", "b"].join("-") == "a-b"',
    '"hello".substring(1, 3) == "el" && "abcabc".indexOf("c", 3) == 5 && " x ".trim() == "x" && "aaa".replace("a", "b", 2) == "bba"',
    '"%s has %d of %.2f".format(["a", 3, 1.5]) == "a has 3 of 1.50"',
    '"abc123".matches("[0-9]+$") && "abc 12 34".findAll("[0-9]+") == ["12", "34"] && "abc".find("x") == ""',
    'url("https://example.com:8080/a%20b?x=1&x=2").getPort() == "8080" && url("https://h/p").getHost() == "h"',
    'isURL("/path") && !isURL("../x") && url("https://example.com/a").getQuery() == {}',
    'ip("192.168.0.1").family() == 4 && isIP("::1") && ip("::1").isLoopback() && !ip("8.8.8.8").isLoopback() && ip("8.8.8.8").isGlobalUnicast()',
    'ip.isCanonical("::1") && !isIP("::ffff:1.2.3.4") && string(ip("10.0.0.1")) == "10.0.0.1"',
    'cidr("192.168.0.0/24").containsIP("192.168.0.7") && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.0.0.1/8").masked() == cidr("10.0.0.0/8")',
    'quantity("1.5Gi").isGreaterThan(quantity("1Gi")) && quantity("1k").asInteger() == 1000 && isQuantity("100m") && !isQuantity("x")',
    'quantity("50k").add(20).sub(quantity("10")) == quantity("50010") && quantity("100m").asApproximateFloat() < 0.2',
    '!format.dns1123Label().validate("my-name").hasValue() && format.named("uuid").value().validate("x").hasValue()',
    'semver("1.2.3").isLessThan(semver("1.10.0")) && isSemver("1.0.0-rc.1") && semver("v1.2", true).minor() == 2 && semver("1.0.0-a").isLessThan(semver("1.0.0"))',
    'int("12") == 12 && string(12) == "12" && double("1.5") == 1.5 && uint(3) == 3u && bool("true") && bytes("a") == b"a"',
    'false && 1 / 0 == 1 ? false : true',
    '(1 / 0 == 1 || true) && [1, 0].exists(x, 1 / x == 1)',
    'lists.range(3) == [0, 1, 2] && [[1], [2]].flatten() == [1, 2] && [1, 2, 3].slice(1, 2) == [2] && [1, 2].reverse() == [2, 1]',
    'self.rules.sortBy(r, -r.weight)[0].name == "two"',
  ];
  for (const text of table) test(text, () => assert.equal(evaluate(text), true));
});

suite('expressions with errors when they run', () => {
  const table: readonly (readonly [text: string, error: string])[] = [
    ['1 / 0 == 1', 'division by zero'],
    ['9223372036854775807 + 1 > 0', 'integer overflow'],
    ['self.tags[7] == ""', 'index out of bounds: 7'],
    ['self.labels["x"] == ""', 'no such key: x'],
    ['self.port + "a" == ""', 'no such overload'],
    ['"a".matches(self.name + "(")', 'error parsing regexp: missing closing ): `web(`'],
  ];
  for (const [text, message] of table) {
    test(text, () =>
      assert.throws(
        () => evaluate(text),
        (error) => error instanceof CelError && error.message === message,
      ),
    );
  }
});

suite('expressions that do not compile', () => {
  const table: readonly (readonly [text: string, error: string])[] = [
    ['self.x == 1', "ERROR: <input>:1:5: undefined field 'x'\n | self.x == 1\n | ....^"],
    ['other', "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')\n | other\n | ^"],
    [
      'self.name == 1',
      "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, int)'\n | self.name == 1\n | ..........^",
    ],
    [
      'self.name.foo()',
      "ERROR: <input>:1:10: undeclared reference to 'foo' (in container '')\n | self.name.foo()\n | .........^",
    ],
    [
      'self.name.contains(1)',
      "ERROR: <input>:1:10: found no matching overload for 'contains' applied to 'string.(int)'\n | self.name.contains(1)\n | .........^",
    ],
    ['1 +', "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>'\n | 1 +\n | ...^"],
  ];
  for (const [text, message] of table) {
    test(text, () =>
      assert.throws(
        () => evaluate(text),
        (error) => error instanceof CelCheckError && error.message === message,
      ),
    );
  }
});

test('an expression that costs too much is stopped', () => {
  const items = Array.from({ length: 1000 }, (_, index) => String(index));
  const list: JsonSchema = { type: 'object', properties: { items: { type: 'array', items: { type: 'string' } } } };
  const type = celTypeOf(list);
  assert.ok(type);
  const program = compileExpression('self.items.all(a, self.items.all(b, a != b || true))', new Map([['self', type]]));
  assert.ok(program.cost > 10_000_000);
  const scope = new Scope(new Map([['self', celValueOf({ items }, list)]]), 1_000_000);
  const start = performance.now();
  assert.throws(() => program.run(scope), CostLimitError);
  assert.ok(performance.now() - start < 5000);
});
