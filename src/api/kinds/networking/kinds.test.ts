import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError } from '../../field-errors.ts';
import { gatesWith } from '../../gates.ts';
import { ingressClassKind } from './ingressclass/kind.ts';
import type { IngressClass } from './ingressclass/kind.ts';
import { ipAddressKind } from './ipaddress/kind.ts';
import type { IpAddress } from './ipaddress/kind.ts';
import { serviceCidrKind } from './servicecidr/kind.ts';
import type { ServiceCidr } from './servicecidr/schema.ts';

const context = { gates: gatesWith(), loopbackEndpoints: [] };
const texts = (errors: readonly FieldError[]): string[] => errors.map(({ path, body }) => `${path}: ${body}`);

const classOf = (spec: IngressClass['spec']): IngressClass => ingressClassKind.applyDefaults({ metadata: {}, spec });
const parameters = { kind: 'Config', name: 'a' };
const classes: readonly { name: string; given: IngressClass; want: readonly string[] }[] = [
  { name: 'a controller', given: classOf({ controller: 'example.org/ingress', parameters }), want: [] },
  { name: 'no controller', given: classOf({}), want: ['spec.controller: Required value'] },
  {
    name: 'a controller without a domain',
    given: classOf({ controller: 'ingress' }),
    want: ['spec.controller: Invalid value: "ingress": must be a domain-prefixed path (such as "acme.io/foo")'],
  },
  {
    name: 'a controller that is too long',
    given: classOf({ controller: `example.org/${'a'.repeat(250)}` }),
    want: ['spec.controller: Too long: may not be more than 250 bytes'],
  },
  {
    name: 'an unknown scope',
    given: classOf({ controller: 'example.org/a', parameters: { kind: '', name: 'a%', scope: 'Node' } }),
    want: [
      'spec.parameters.kind: Required value',
      'spec.parameters.name: Invalid value: "a%": may not contain \'%\'',
      'spec.parameters.scope: Unsupported value: "Node": supported values: "Cluster", "Namespace"',
    ],
  },
  {
    name: 'a missing namespace',
    given: classOf({ controller: 'example.org/a', parameters: { ...parameters, scope: 'Namespace' } }),
    want: ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
  },
  {
    name: 'a namespace with scope Cluster',
    given: classOf({ controller: 'example.org/a', parameters: { ...parameters, namespace: 'shop' } }),
    want: ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  },
];
for (const { name, given, want } of classes) {
  test(`an IngressClass with ${name}`, () => {
    assert.deepEqual(texts(ingressClassKind.validateCreate(given, context)), want);
  });
}

test('the controller of an IngressClass cannot be changed', () => {
  const errors = ingressClassKind.validateUpdate(
    classOf({ controller: 'example.org/b' }),
    classOf({ controller: 'example.org/a' }),
    context,
  );
  assert.deepEqual(texts(errors), ['spec.controller: Invalid value: "example.org/b": field is immutable']);
});

const addressOf = (parentRef?: NonNullable<IpAddress['spec']['parentRef']>): IpAddress => ({
  metadata: { name: '10.0.0.1' },
  spec: parentRef === undefined ? {} : { parentRef },
});

test('the name of an IPAddress is an address in canonical form', () => {
  assert.deepEqual(ipAddressKind.nameErrors('fd00::1', false, context), []);
  assert.deepEqual(ipAddressKind.nameErrors('FD00::1', false, context), ['must be in canonical form ("fd00::1")']);
});

test('the parent of an IPAddress is required and immutable', () => {
  const web = addressOf({ resource: 'services', namespace: 'shop', name: 'web' });
  assert.deepEqual(texts(ipAddressKind.validateCreate(addressOf(), context)), ['spec.parentRef: Required value']);
  assert.deepEqual(texts(ipAddressKind.validateCreate(addressOf({}), context)), [
    'spec.parentRef.resource: Required value',
    'spec.parentRef.name: Required value',
  ]);
  assert.deepEqual(ipAddressKind.validateCreate(web, context), []);
  assert.deepEqual(ipAddressKind.validateUpdate(web, web, context), []);
  assert.deepEqual(texts(ipAddressKind.validateUpdate(addressOf({ resource: 'services', name: 'b' }), web, context)), [
    'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"b"}: field is immutable',
  ]);
  assert.equal(ipAddressKind.columns[1]?.cell(web, 0), 'services/shop/web');
});

const rangesOf = (...cidrs: readonly string[]): ServiceCidr => ({ metadata: {}, spec: { cidrs }, status: {} });
const ranges: readonly { name: string; cidrs: readonly string[]; want: readonly string[] }[] = [
  { name: 'one range', cidrs: ['10.0.0.0/24'], want: [] },
  { name: 'two families', cidrs: ['10.0.0.0/24', 'fd00::/64'], want: [] },
  { name: 'none', cidrs: [], want: ['spec.cidrs: Required value: at least one CIDR required'] },
  {
    name: 'three',
    cidrs: ['10.0.0.0/24', 'fd00::/64', '10.0.1.0/24'],
    want: [
      'spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","fd00::/64","10.0.1.0/24"]}: may only hold up to 2 values',
    ],
  },
  {
    name: 'two ranges of the same family',
    cidrs: ['10.0.0.0/24', '10.0.1.1/24'],
    want: [
      'spec.cidrs[1]: Invalid value: "10.0.1.1/24": must not have bits set beyond the prefix length',
      'spec.cidrs: Invalid value: ["10.0.0.0/24","10.0.1.1/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  },
];
for (const { name, cidrs, want } of ranges) {
  test(`a ServiceCIDR with ${name}`, () => {
    assert.deepEqual(texts(serviceCidrKind.validateCreate(rangesOf(...cidrs), context)), want);
  });
}

test('ranges are immutable, but a second one can be added', () => {
  const old = rangesOf('10.0.0.0/24');
  const change = (...cidrs: readonly string[]): string[] =>
    texts(serviceCidrKind.validateUpdate(rangesOf(...cidrs), old, context));
  assert.deepEqual(change('10.0.0.0/24'), []);
  assert.deepEqual(change('10.0.0.0/24', 'fd00::/64'), []);
  assert.deepEqual(change('10.0.1.0/24'), ['spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']);
  assert.deepEqual(change(), ['spec.cidrs: Invalid value: []: field is immutable']);
});
