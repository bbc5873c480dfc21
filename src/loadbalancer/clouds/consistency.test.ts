// LB-22: all products × ports × gate × new or existing: a Service is set up as specified or refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceWith } from '../testing/service.ts';
import { tcpUdpListener } from './aws.ts';
import type { Era } from './product.ts';
import { eras } from './product.ts';
import type { Cloud } from './cloud.ts';
import { clouds } from './clouds.ts';
import { ingressWith } from './ingress.ts';
import type { Problem } from './evaluate.ts';
import { policyAnnotation } from './evaluate.ts';
import type { Plan } from './plan.ts';
import { productsOf, plan } from './plan.ts';
import { isMixed } from './ports.ts';
import type { OpenPort, Resource } from './resource.ts';
import { keyOfResource, openPorts, portText } from './resource.ts';

const portSets = [
  '80/TCP',
  '53/UDP',
  '9000/SCTP',
  '80/TCP 81/UDP',
  '81/UDP 80/TCP',
  '53/TCP 53/UDP',
  '53/UDP 53/TCP 443/TCP',
  '80/TCP 9000/SCTP',
  '53/UDP 9000/SCTP',
  '53/TCP 53/UDP 53/SCTP',
];

const annotationSets: readonly Readonly<Record<string, string>>[] = [
  {},
  {
    [tcpUdpListener]: 'true',
    'service.beta.kubernetes.io/azure-load-balancer-mixed-protocols': 'true',
    'service.beta.kubernetes.io/azure-load-balancer-internal': 'true',
    'cloud.google.com/load-balancer-type': 'Internal',
    'service.beta.kubernetes.io/aws-load-balancer-internal': 'true',
  },
  { [policyAnnotation]: 'best-effort' },
];

interface Case {
  readonly cloud: Cloud;
  readonly product: string;
  readonly era: Era;
  readonly service: Service;
  readonly isMixingAllowed: boolean;
  readonly existing: readonly Resource[];
}

/** Invariants of every plan. */
function hold({ service, existing, ...rest }: Case, planned: Plan): void {
  const desired = (service.spec.ports ?? []).map(({ port, protocol = 'TCP' }) => ({ port, protocol }));
  assert.deepEqual(
    planned.ports.map(({ port, protocol }) => ({ port, protocol })),
    desired,
    'one status for each port, in the order of the manifest',
  );
  const keys = planned.resources.map(keyOfResource);
  assert.deepEqual(keys, [...new Set(keys)], 'resources have different keys');
  const problem = planned.refusal ?? planned.shortfall;
  if (problem !== undefined) holdProblem(problem, planned, desired);
  if (planned.refusal === undefined) {
    const open = openPorts(planned.resources);
    const served = planned.ports.filter((port) => port.fault === undefined);
    for (const port of served) assert.ok(open.has(portText(port)), `${portText(port)} is open`);
    const isDoubled =
      rest.cloud.name === 'azure' &&
      rest.era === '2020-07' &&
      'azure-load-balancer-mixed-protocols' in wordsOf(service);
    if (!isDoubled) assert.equal(open.size, served.length, 'and nothing else is');
    const isAll = service.metadata.annotations?.[policyAnnotation] === undefined;
    if (isAll) assert.equal(planned.shortfall, undefined, 'LB-5 in part only where the Service requests it');
    assert.equal(served.length === desired.length, planned.shortfall === undefined);
    assert.notEqual(served.length, 0);
    return;
  }
  assert.deepEqual(planned.resources, existing, 'nothing is made, changed or removed');
  assert.deepEqual(planned.changes, { create: [], update: [], remove: [] });
  const open = openPorts(existing);
  for (const port of planned.ports) assert.equal(port.fault === undefined, open.has(portText(port)), portText(port));
  assert.equal(planned.bill.hourlyChange ?? 0, 0, 'and nothing is billed');
}

/** Ports that are not served are reported by an Event, a condition and the port status. */
function holdProblem({ reason, message, isAboutMixing }: Problem, planned: Plan, desired: readonly OpenPort[]): void {
  assert.ok(planned.events.some((event) => event.type === 'Warning' && event.reason === reason));
  assert.notEqual(message, '');
  assert.match(reason, /^[A-Z][A-Za-z]+$/);
  assert.ok(isAboutMixing ? isMixed(desired) : true);
  for (const { fault } of planned.ports) {
    assert.match(fault?.code ?? 'MixedProtocolNotSupported', /^([a-z.]+\/)?[A-Z][A-Za-z]{1,300}$/);
  }
}

/** Annotations by the last part of their names. */
const wordsOf = ({ metadata: { annotations = {} } }: Service): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name.split('/').at(-1) ?? '', value]));

for (const cloud of clouds) {
  describe(`LB-22 ${cloud.title}`, () => {
    for (const era of eras) {
      for (const product of productsOf(cloud, era)) {
        test(`${product.name} (${era}): set up as specified or refused, gate on and off, new and existing`, () => {
          let works = 0;
          for (const ports of portSets) {
            for (const annotations of annotationSets) {
              for (const isMixingAllowed of [true, false]) {
                const service = serviceWith(ports, { annotations });
                const input = { service, era, product: product.name, isMixingAllowed };
                const fresh = plan(cloud, input);
                hold({ cloud, ...input, existing: [] }, fresh);
                works += fresh.refusal === undefined ? 1 : 0;
                // Every transition between two sets of ports.
                for (const before of portSets) {
                  const first = plan(cloud, {
                    ...input,
                    isMixingAllowed: true,
                    service: serviceWith(before, { annotations }),
                  });
                  const existing = first.resources;
                  hold({ cloud, ...input, existing }, plan(cloud, { ...input, existing }));
                }
              }
            }
          }
          assert.ok(works > 0, 'something works');
        });
      }
    }
  });
}

test('LB-22 the plan is idempotent for any ports, nodes and changes', () => {
  const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP');
  const ports = fc
    .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 6 }), protocol), { minLength: 1, maxLength: 6, selector: String })
    .map((all) => all.map(([port, name]) => `${port}/${name}`).join(' '));
  const row = fc.constantFrom(...clouds.flatMap((cloud) => cloud.products.map((product) => ({ cloud, product }))));
  const policy = fc.constantFrom('strict', 'best-effort');
  fc.assert(
    fc.property(
      row,
      fc.array(ports, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      policy,
      ({ cloud, product }, sets, isMixingAllowed, chosen) => {
        let existing: readonly Resource[] = [];
        for (const set of sets) {
          const annotations = {
            [tcpUdpListener]: 'true',
            ...(chosen === 'strict' ? {} : { [policyAnnotation]: chosen }),
          };
          const service = serviceWith(set, { annotations });
          const input = { service, era: product.era, product: product.name, isMixingAllowed, existing };
          const planned = plan(cloud, input);
          hold({ cloud, ...input }, planned);
          existing = planned.resources;
          const again = plan(cloud, { ...input, existing });
          if (planned.refusal === undefined) assert.deepEqual(again.changes, { create: [], update: [], remove: [] });
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('LB-8 with the gate off, refuses a new mixed Service that the API server accepted, and keeps an existing one', () => {
  for (const cloud of clouds) {
    const service = serviceWith('80/TCP 81/UDP');
    const product = productsOf(cloud, 'today').findLast(({ mixed }) => mixed !== 'none')?.name;
    if (product === undefined) continue;
    const input = { service, era: 'today', product, isMixingAllowed: false } as const;
    const fresh = plan(cloud, input);
    assert.equal(fresh.refusal?.reason, 'LoadBalancerMixedProtocolNotSupported');
    assert.match(fresh.refusal?.message ?? '', /MixedProtocolLBService, which is off/);
    const existing = plan(cloud, { ...input, isMixingAllowed: true }).resources;
    const changed = serviceWith('80/TCP 82/UDP');
    const kept = plan(cloud, { ...input, service: changed, existing });
    assert.equal(kept.refusal, undefined, 'LB-23 it can be edited');
    assert.ok(openPorts(kept.resources).has('82/UDP'));
  }
});

test('LB-3 both forms of the port status agree', () => {
  const ports = [
    { port: 80, protocol: 'TCP' },
    { port: 81, protocol: 'UDP', fault: { code: 'MixedProtocolNotSupported', message: 'no' } },
  ] as const;
  assert.deepEqual(ingressWith({ ip: '192.0.2.1', ipMode: 'VIP' }, ports, 'kept'), {
    ip: '192.0.2.1',
    ipMode: 'VIP',
    ports: [
      { port: 80, protocol: 'TCP' },
      { port: 81, protocol: 'UDP', error: 'MixedProtocolNotSupported' },
    ],
    portStatuses: [
      { port: 80, protocol: 'TCP', ready: true },
      { port: 81, protocol: 'UDP', ready: false, message: 'no' },
    ],
    message: 'kept',
  });
});
