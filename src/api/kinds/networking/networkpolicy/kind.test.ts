import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { networkPolicyKind } from './kind.ts';

const policy = (spec: object): object => ({ spec: { podSelector: {}, ...spec } });
const from = (peer: object): object => policy({ ingress: [{ from: [peer] }] });
const port = (given: object): object => policy({ egress: [{ ports: [given] }] });

test('sets protocols and directions', () => {
  const { spec } = created(networkPolicyKind, policy({ ingress: [{ ports: [{ port: 80 }] }], egress: [{}] }));
  assert.deepEqual(spec.ingress?.[0]?.ports, [{ protocol: 'TCP', port: 80 }]);
  assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
  assert.deepEqual(created(networkPolicyKind, policy({})).spec.policyTypes, ['Ingress']);
});

const block = (cidr: string, ...except: readonly string[]): object => from({ ipBlock: { cidr, except } });
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts ranges', given: block('192.0.2.0/24', '192.0.2.0/28'), want: [] },
  { name: 'requires a peer', given: from({}), want: ['spec.ingress[0].from[0]: Required value: must specify a peer'] },
  {
    name: 'rejects selectors beside a range',
    given: from({ podSelector: {}, ipBlock: { cidr: '192.0.2.0/24' } }),
    want: ['spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer'],
  },
  {
    name: 'rejects exceptions outside the range',
    given: block('192.0.2.0/24', '198.51.100.0/28', '192.0.2.0/24'),
    want: [
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "198.51.100.0/28": must be a strict subset of `cidr`',
      'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "192.0.2.0/24": must be a strict subset of `cidr`',
    ],
  },
  {
    name: 'rejects what is not a range',
    given: block('192.0.2.0'),
    want: [
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "192.0.2.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  },
  {
    name: 'the last port must not be below the first',
    given: port({ port: 90, endPort: 80 }),
    want: ['spec.egress[0].ports[0].endPort: Invalid value: 90: must be greater than or equal to `port`'],
  },
  {
    name: 'a named port has no range',
    given: port({ port: 'http', endPort: 80 }),
    want: ['spec.egress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric'],
  },
  {
    name: 'rejects unknown protocols and directions',
    given: policy({ ingress: [{ ports: [{ protocol: 'ICMP' }] }], policyTypes: ['Sideways'] }),
    want: [
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
      'spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(networkPolicyKind, given), want));
}

test('a range that was accepted before can be moved to another rule', () => {
  const odd = { ipBlock: { cidr: 'odd' } };
  assert.deepEqual(updateErrors(networkPolicyKind, from(odd), policy({ egress: [{ to: [odd] }] })), []);
});

test('warns about ambiguous ranges', () => {
  const object = created(networkPolicyKind, block('192.0.2.1/24'));
  assert.deepEqual(networkPolicyKind.warnings(object, undefined, plainContext), [
    'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "192.0.2.1/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.1/32"?)',
  ]);
});

test('the row shows the selector', () => {
  assert.deepEqual(cells(networkPolicyKind, policy({ podSelector: { matchLabels: { app: 'web' } } }))[1], 'app=web');
});
