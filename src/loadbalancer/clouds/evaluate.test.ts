// The served ports of a Service with the best-effort policy.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serviceWith } from '../testing/service.ts';
import { cloudNamed } from './clouds.ts';
import { policyAnnotation } from './evaluate.ts';
import type { Plan } from './plan.ts';
import { plan } from './plan.ts';
import { openPorts } from './resource.ts';

interface Case {
  readonly name: string;
  readonly at: string;
  readonly ports: string;
  /** The open ports before. */
  readonly before?: string;
  readonly policy?: string;
  readonly isGateOff?: boolean;
  readonly served: string;
  /** Codes of the unserved ports, in the order of the manifest. */
  readonly left: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: 'a cloud without mixed protocols serves the first protocol',
    at: 'aws/nlb',
    ports: '80/TCP 81/UDP 443/TCP',
    served: '80/TCP 443/TCP',
    left: ['MixedProtocolNotSupported'],
  },
  {
    name: 'keeps open ports, whatever comes first',
    at: 'aws/nlb',
    ports: '81/UDP 80/TCP',
    before: '80/TCP',
    served: '80/TCP',
    left: ['MixedProtocolNotSupported'],
  },
  {
    name: 'serves the first protocol of a port number',
    at: 'aws/nlb-lbc',
    ports: '53/UDP 53/TCP 80/TCP',
    served: '53/UDP 80/TCP',
    left: ['fairlead.dev/SamePortOptInRequired'],
  },
  {
    name: 'serves a port together with one that it depends on',
    at: 'digitalocean/regional',
    ports: '53/UDP 9000/SCTP 80/TCP',
    served: '53/UDP 80/TCP',
    left: ['fairlead.dev/UnsupportedProtocol'],
  },
  {
    name: 'serves nothing if no port can be served',
    at: 'oracle/lb',
    ports: '53/UDP 9000/SCTP',
    served: '',
    left: ['fairlead.dev/UnsupportedProtocol', 'fairlead.dev/UnsupportedProtocol'],
  },
  {
    name: 'LB-5 serves all ports or none by default',
    at: 'aws/nlb',
    ports: '80/TCP 81/UDP',
    policy: 'strict',
    served: '',
    left: ['MixedProtocolNotSupported', 'MixedProtocolNotSupported'],
  },
  {
    name: 'LB-8 best effort does not apply if the gate is off',
    at: 'azure/standard',
    ports: '80/TCP 81/UDP',
    isGateOff: true,
    served: '',
    left: ['MixedProtocolNotSupported', 'MixedProtocolNotSupported'],
  },
  {
    name: 'serves all ports if possible',
    at: 'azure/standard',
    ports: '80/TCP 81/UDP',
    served: '80/TCP 81/UDP',
    left: [],
  },
];

function planned({
  at,
  ports,
  before,
  policy = 'best-effort',
  isGateOff = false,
}: Omit<Case, 'served' | 'left'>): Plan {
  const [name = '', product = ''] = at.split('/');
  const cloud = cloudNamed(name) ?? assert.fail(name);
  const at2026 = { era: 'today', product, isMixingAllowed: !isGateOff } as const;
  const existing = before === undefined ? [] : plan(cloud, { ...at2026, service: serviceWith(before) }).resources;
  return plan(cloud, {
    ...at2026,
    existing,
    service: serviceWith(ports, { annotations: { [policyAnnotation]: policy } }),
  });
}

for (const { served, left, ...given } of cases) {
  test(given.name, () => {
    const made = planned(given);
    assert.equal([...openPorts(made.resources)].join(' '), served);
    assert.deepEqual(
      made.ports.flatMap(({ fault }) => fault?.code ?? []),
      left,
    );
    assert.equal(made.refusal !== undefined, served === '');
    assert.equal(made.shortfall !== undefined, served !== '' && left.length > 0);
    const problem = made.refusal ?? made.shortfall;
    assert.ok(made.events.some(({ reason }) => reason === problem?.reason) || problem === undefined);
  });
}

test('a problem names every port and whether it is served', () => {
  const { shortfall } = planned({ name: '', at: 'aws/nlb', ports: '80/TCP 81/UDP' });
  assert.match(shortfall?.message ?? '', / \(ports: 80\/TCP served, 81\/UDP MixedProtocolNotSupported\)$/);
  assert.equal(shortfall?.reason, 'LoadBalancerMixedProtocolNotSupported');
});

test('serves as many ports as the quota allows, and retries the others', () => {
  const ports = Array.from({ length: 52 }, (_, index) => `${index + 1}/TCP`).join(' ');
  const { shortfall, resources } = planned({ name: '', at: 'aws/nlb', ports });
  assert.equal(openPorts(resources).size, 50);
  assert.equal(shortfall?.reason, 'QuotaExceeded');
  assert.equal(shortfall?.isFinal, false);
});
