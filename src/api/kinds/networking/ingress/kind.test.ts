import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GateName } from '../../../gates.ts';
import { gatesWith } from '../../../gates.ts';
import type { WriteContext } from '../../../kind.ts';
import type { ObjectMeta } from '../../../metadata.ts';
import { ingressKind as kind } from './kind.ts';
import type { Ingress } from './schema.ts';

const contextWith = (gates: Partial<Record<GateName, boolean>> = {}): WriteContext => ({
  gates: gatesWith(gates),
  loopbackEndpoints: [],
});
// An Ingress as a client may write it: decoding takes any word.
const ingress = (spec: object, metadata: ObjectMeta = {}): Ingress =>
  ({ metadata, spec, status: { loadBalancer: {} } }) as Ingress;
const backend = { service: { name: 'web', port: { number: 80 } } };
const rule = (path: object, host?: string): object => ({
  ...(host === undefined ? {} : { host }),
  http: { paths: [{ path: '/', pathType: 'Prefix', backend, ...path }] },
});
const to = (given: object): object => ({ rules: [rule({ backend: given })] });
const at = 'spec.rules[0].http.paths[0]';

const rows: readonly { name: string; spec: object; metadata?: ObjectMeta; want: readonly string[] }[] = [
  { name: 'a rule', spec: { rules: [rule({})] }, want: [] },
  { name: 'a default backend', spec: { defaultBackend: backend }, want: [] },
  {
    name: 'neither rules nor a default backend',
    spec: {},
    want: ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
  },
  {
    name: 'an address as a host',
    spec: { rules: [rule({}, '192.0.2.1')] },
    want: ['spec.rules[0].host: Invalid value: "192.0.2.1": must be a DNS name, not an IP address'],
  },
  { name: 'a wildcard host', spec: { rules: [rule({}, '*.example.org')] }, want: [] },
  {
    name: 'invalid hosts',
    spec: { rules: [rule({}, 'a.*.org'), rule({}, 'A')] },
    want: [
      'spec.rules[0].host: Invalid value: "a.*.org": a wildcard DNS-1123 subdomain must start with',
      'spec.rules[1].host: Invalid value: "A": a lowercase RFC 1123 subdomain must',
    ],
  },
  {
    name: 'no paths',
    spec: { rules: [{ http: { paths: null } }] },
    want: ['spec.rules[0].http.paths: Required value'],
  },
  {
    name: 'no path type, whose path is not validated',
    spec: { rules: [{ http: { paths: [{ path: 'x', backend: {} }] } }] },
    want: [`${at}.pathType: Required value: pathType must be specified`],
  },
  {
    name: 'an unknown path type',
    spec: { rules: [rule({ pathType: 'Regex' })] },
    want: [`${at}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
  },
  {
    name: 'an empty path',
    spec: { rules: [rule({ path: '' })] },
    want: [`${at}.path: Invalid value: "": must be an absolute path`],
  },
  {
    name: 'a path that violates every rule',
    spec: { rules: [rule({ pathType: 'Exact', path: 'a//b/./c/../%2f%2F/..' })] },
    want: [
      'must be an absolute path',
      "must not contain '//'",
      "must not contain '/./'",
      "must not contain '/../'",
      "must not contain '%2f'",
      "must not contain '%2F'",
      "cannot end with '/..'",
    ].map((detail) => `${at}.path: Invalid value: "a//b/./c/../%2f%2F/..": ${detail}`),
  },
  {
    name: 'paths with type ImplementationSpecific',
    spec: {
      rules: [
        rule({ pathType: 'ImplementationSpecific', path: '' }),
        rule({ pathType: 'ImplementationSpecific', path: 'x//' }),
      ],
    },
    want: ['spec.rules[1].http.paths[0].path: Invalid value: "x//": must be an absolute path'],
  },
  {
    name: 'a Service and a resource as backend',
    spec: to({ ...backend, resource: { kind: 'Bucket', name: 'a' } }),
    want: [`${at}.backend: Invalid value: "": cannot set both resource and service backends`],
  },
  {
    name: 'no backend',
    spec: to({}),
    want: [`${at}.backend: Invalid value: "": resource or service backend is required`],
  },
  {
    name: 'a backend without name and port',
    spec: to({ service: { name: '' } }),
    want: [
      `${at}.backend.service.name: Required value`,
      `${at}.backend: Required value: port name or number is required`,
    ],
  },
  {
    name: 'a port by name and number',
    spec: to({ service: { name: 'web', port: { name: 'http', number: 80 } } }),
    want: [`${at}.backend: Invalid value: "": cannot set both port name & port number`],
  },
  {
    name: 'invalid ports',
    spec: {
      defaultBackend: { service: { name: 'web', port: { name: '1' } } },
      ...to({ service: { name: 'web', port: { number: 70_000 } } }),
    },
    want: [
      'spec.defaultBackend.service.port.name: Invalid value: "1": must contain at least one letter (a-z)',
      `${at}.backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive`,
    ],
  },
  {
    name: 'an invalid resource',
    spec: to({ resource: { apiGroup: 'X', kind: '', name: 'a/b' } }),
    want: [
      `${at}.backend.resource.apiGroup: Invalid value: "X": a lowercase RFC 1123 subdomain`,
      `${at}.backend.resource.kind: Required value`,
      `${at}.backend.resource.name: Invalid value: "a/b": may not contain '/'`,
    ],
  },
  {
    name: 'invalid certificates and class',
    spec: { defaultBackend: backend, tls: [{ hosts: ['*', 'ok.org'], secretName: 'S' }, {}], ingressClassName: 'C' },
    want: [
      'spec.tls[0].hosts[0]: Invalid value: "*": a wildcard DNS-1123 subdomain',
      'spec.tls[0].secretName: Invalid value: "S": a lowercase RFC 1123 subdomain',
      'spec.ingressClassName: Invalid value: "C": a lowercase RFC 1123 subdomain',
    ],
  },
  {
    name: 'a class that differs from the annotation',
    spec: { defaultBackend: backend, ingressClassName: 'a' },
    metadata: { annotations: { 'kubernetes.io/ingress.class': 'b' } },
    want: [
      'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are specified',
    ],
  },
];
for (const { name, spec, metadata, want } of rows) {
  test(`an Ingress with ${name}`, () => {
    const errors = kind.validateCreate(ingress(spec, metadata), contextWith());
    const texts = errors.map(({ path, body }) => `${path}: ${body}`);
    assert.equal(texts.length, want.length, texts.join('\n'));
    for (const [index, text] of texts.entries()) assert.ok(text.startsWith(want[index] ?? '?'), text);
  });
}

const service = (name: string): object => ({ service: { name, port: { number: 80 } } });
const byRule = (name: string): object => to(service(name));
const byDefault = (name: string): object => ({ defaultBackend: service(name) });
const names: readonly { name: string; on: boolean; old?: object; next: object; ok: boolean }[] = [
  { name: 'NAME-4 create with the gate enabled', on: true, next: byRule('1web'), ok: true },
  { name: 'NAME-4 update with the gate enabled', on: true, old: byRule('web'), next: byRule('1web'), ok: true },
  { name: 'NAME-4 never a name with dots', on: true, next: byRule('a.b'), ok: false },
  { name: 'NAME-5 create with the gate disabled', on: false, next: byRule('1web'), ok: false },
  { name: 'NAME-5 create a default with the gate disabled', on: false, next: byDefault('1web'), ok: false },
  { name: 'NAME-5 a name that is stored', on: false, old: byRule('1web'), next: byRule('1web'), ok: true },
  { name: 'NAME-5 a default that is stored', on: false, old: byDefault('1web'), next: byDefault('1web'), ok: true },
  { name: 'NAME-5 a name that becomes relaxed', on: false, old: byRule('web'), next: byRule('1web'), ok: false },
];
for (const { name, on, old, next, ok } of names) {
  test(name, () => {
    const context = contextWith({ RelaxedServiceNameValidation: on });
    const errors =
      old === undefined
        ? kind.validateCreate(ingress(next), context)
        : kind.validateUpdate(ingress(next), ingress(old), context);
    assert.equal(errors.length === 0, ok);
  });
}

test('invalid stored values do not block other changes', () => {
  const tls = ingress({ defaultBackend: backend, tls: [{ secretName: 'S' }] });
  const wildcard = ingress({ rules: [rule({ path: 'x' }, '*.example.org')] });
  for (const old of [tls, wildcard]) assert.deepEqual(kind.validateUpdate(old, old, contextWith()), []);
});

test('the class may differ from the annotation on update', () => {
  const object = ingress(
    { defaultBackend: backend, ingressClassName: 'a' },
    { annotations: { 'kubernetes.io/ingress.class': 'b' } },
  );
  assert.deepEqual(kind.validateUpdate(object, object, contextWith()), []);
});

test('the class annotation is deprecated', () => {
  const object = ingress({ defaultBackend: backend }, { annotations: { 'kubernetes.io/ingress.class': 'b' } });
  assert.deepEqual(kind.warnings(object, undefined, contextWith()), [
    'annotation "kubernetes.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead',
  ]);
  assert.deepEqual(kind.warnings(object, object, contextWith()), []);
});

test('the status has addresses and names', () => {
  const object = { ...ingress({}), status: { loadBalancer: { ingress: [{ ip: 'x' }, { hostname: '192.0.2.1' }] } } };
  assert.deepEqual(
    kind.validateStatus(object, ingress({}), contextWith()).map(({ path }) => path),
    ['status.loadBalancer.ingress[0].ip', 'status.loadBalancer.ingress[1].hostname'],
  );
});

test('an Ingress prints its class, hosts, addresses and ports', () => {
  const object = {
    ...ingress({ ingressClassName: 'a', rules: ['a', 'b', undefined, 'd'].map((host) => rule({}, host)), tls: [{}] }),
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.2' }, { ip: '192.0.2.1' }] } },
  };
  const cells = (given: Ingress): string =>
    kind.columns
      .slice(1, 5)
      .map((column) => column.cell(given, 0))
      .join(' | ');
  assert.equal(cells(object), 'a | a,b,* + 1 more... | 192.0.2.1,192.0.2.2 | 80, 443');
  assert.equal(cells(ingress({ defaultBackend: backend })), '<none> | * |  | 80');
});
