import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseMembers, printMembers } from './members-file.ts';

describe('the file of members', () => {
  test('is parsed and printed', () => {
    const file = {
      superclusterCIDRs: ['241.0.0.0/16'],
      members: [
        { id: 'eu', context: 'prod-eu', namespaces: ['shop'], labels: { tier: 'prod' }, maxExports: 5, leaving: true },
      ],
    };
    assert.deepEqual(parseMembers(printMembers(file), 'm.yaml'), file);
    assert.deepEqual(parseMembers('', 'm.yaml'), { members: [] });
    assert.deepEqual(parseMembers('members: [{ context: eu }]', 'm.yaml'), { members: [{ id: 'eu', context: 'eu' }] });
  });

  for (const [text, error] of [
    ['- a', 'm.yaml: expected a mapping with the key "members"'],
    ['member: []', 'm.yaml: unknown key "member": expected members or superclusterCIDRs'],
    ['members: {}', 'm.yaml: key "members": expected a list'],
    ['members: [east]', 'm.yaml: members[0]: expected a mapping'],
    ['members: [{}]', 'm.yaml: members[0]: expected an id, or a context'],
    ['members: [{ id: a }, { id: a }]', 'm.yaml: two members have the id "a": give each its own'],
    ['members: [{ id: a, namespaces: shop }]', 'm.yaml: members[0]: key "namespaces": expected a list, found "shop"'],
    [
      'members: [{ id: a, endpointCIDRs: [10.0.0.0] }]',
      'm.yaml: members[0]: key "endpointCIDRs": expected a CIDR, such as 241.0.0.0/16, found ["10.0.0.0"]',
    ],
    [
      'members: [{ id: a, maxExports: -1 }]',
      'm.yaml: members[0]: key "maxExports": expected a number of 0 or more, found -1',
    ],
    [
      'members: [{ id: a, addressMode: tunnel }]',
      'm.yaml: members[0]: key "addressMode": expected pods, loadbalancer, nodeport, gateway, found "tunnel"',
    ],
    [
      'members: [{ id: a, addressMode: nodeport, addresses: [here] }]',
      'm.yaml: members[0]: key "addresses": expected IP addresses, such as 192.0.2.10, found ["here"]',
    ],
    [
      'members: [{ id: a, addresses: [192.0.2.1] }]',
      'm.yaml: members[0]: key "addresses": needs addressMode loadbalancer, nodeport or gateway',
    ],
    [
      'members: [{ id: a, labels: { tier: 1 } }]',
      'm.yaml: members[0]: key "labels": expected labels, such as {tier: prod}, found {"tier":1}',
    ],
    [
      'members: [{ id: a, draining: soon }]',
      'm.yaml: members[0]: key "draining": expected true or false, found "soon"',
    ],
  ] as const) {
    test(`rejects ${text}`, () => assert.throws(() => parseMembers(text, 'm.yaml'), { message: error }));
  }

  test('reports the place of invalid YAML', () => {
    assert.throws(() => parseMembers('members: [', 'm.yaml'), /^Error: m\.yaml:\d+:\d+: |m\.yaml:\d+:\d+: /);
  });

  test('rejects an id that is not a valid label value', () => {
    assert.throws(() => parseMembers('members: [{ id: Eu_1 }]', 'm.yaml'), /members\[0\]: key "id": .*RFC 1123/);
  });
});
