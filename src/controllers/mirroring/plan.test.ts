import assert from 'node:assert/strict';
import { test } from 'node:test';

import { gatesWith } from '../../api/gates.ts';
import type { Endpoints, EndpointSubset } from '../../api/kinds/core/endpoints/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { applied, service, serviceWithoutSelector } from '../testing/objects.ts';
import type { Observed, Plan } from './plan.ts';
import { plan } from './plan.ts';

const endpointsWith = (subsets: readonly EndpointSubset[], metadata: ObjectMeta = {}): Endpoints => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'endpoints-uid', ...metadata },
  subsets,
});

const one: EndpointSubset = { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80, protocol: 'TCP' }] };

const planned = (observed: Partial<Observed>): Plan =>
  plan({
    endpoints: endpointsWith([one]),
    service: serviceWithoutSelector(),
    slices: [],
    gates: gatesWith(),
    ...observed,
  });

const nothing = { create: [], update: [], remove: [], events: [] };

test('a mirror has the content of the Endpoints and is owned by them', () => {
  const targetRef = { kind: 'Pod', name: 'db-0', namespace: 'shop' };
  const { create } = planned({
    endpoints: endpointsWith(
      [
        {
          addresses: [{ ip: '192.0.2.1', hostname: 'db', nodeName: 'n1', targetRef }],
          notReadyAddresses: [{ ip: '192.0.2.2' }],
          ports: [{ name: 'sql', port: 5432, protocol: 'TCP', appProtocol: 'sql', srvServiceName: 'db' }],
        },
      ],
      {
        labels: { team: 'a', 'endpointslice.kubernetes.io/managed-by': 'me' },
        annotations: {
          note: 'x',
          'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
    ),
  });
  assert.deepEqual(create, [
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        generateName: 'web-',
        namespace: 'shop',
        labels: {
          team: 'a',
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
        },
        annotations: { note: 'x' },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Endpoints',
            name: 'web',
            uid: 'endpoints-uid',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['192.0.2.1'], conditions: { ready: true }, hostname: 'db', targetRef, nodeName: 'n1' },
        { addresses: ['192.0.2.2'], conditions: { ready: false } },
      ],
      ports: [{ name: 'sql', protocol: 'TCP', port: 5432, appProtocol: 'sql', srvServiceName: 'db' }],
    },
  ]);
});

const refusals: readonly (readonly [string, Partial<Observed>])[] = [
  ['the Endpoints are gone', { endpoints: undefined }],
  [
    'the Endpoints have the label skip-mirror',
    { endpoints: endpointsWith([one], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }) },
  ],
  [
    'the Endpoints are a leader election lock',
    { endpoints: endpointsWith([one], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }) },
  ],
  ['there is no Service', { service: undefined }],
  ['the Service has a selector', { service: service() }],
  ['there are no addresses', { endpoints: endpointsWith([]) }],
];
for (const [name, observed] of refusals) {
  test(`does not mirror, and deletes existing mirrors, if ${name}`, () => {
    const slices = applied([], planned({}));
    assert.deepEqual(planned({ ...observed, slices }), { ...nothing, remove: slices });
  });
}

test('skip-mirror only applies with the value true', () => {
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'yes' };
  assert.equal(planned({ endpoints: endpointsWith([one], { labels }) }).create.length, 1);
});

test('does not modify slices of other controllers', () => {
  const [slice] = applied([], planned({}));
  assert.ok(slice);
  const labels = {
    ...slice.metadata.labels,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  const other = { ...slice, metadata: { ...slice.metadata, labels } };
  assert.deepEqual(planned({ endpoints: undefined, slices: [other] }), nothing);
});

test('creates one slice per family and list of ports, independent of the families of the Service', () => {
  const subsets: EndpointSubset[] = [
    { addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }], ports: [{ name: 'a', port: 1 }] },
    { addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }], ports: [{ name: 'b', port: 2 }] },
    { addresses: [{ ip: '192.0.2.9' }], ports: [{ name: 'c', port: 3 }] },
  ];
  const { create } = planned({ endpoints: endpointsWith(subsets) });
  assert.deepEqual(
    create.map(({ addressType, endpoints, ports }) => [
      addressType,
      endpoints?.flatMap(({ addresses }) => addresses),
      ports?.map(({ name }) => name),
    ]),
    [
      ['IPv4', ['192.0.2.1'], ['a', 'b']],
      ['IPv6', ['2001:db8::1'], ['a', 'b']],
      ['IPv4', ['192.0.2.9'], ['c']],
    ],
  );
});

test('an address that is both ready and not ready on a port is not ready', () => {
  const { create } = planned({
    endpoints: endpointsWith([one, { ...one, addresses: [], notReadyAddresses: [{ ip: '192.0.2.1' }] }]),
  });
  assert.deepEqual(create[0]?.endpoints, [{ addresses: ['192.0.2.1'], conditions: { ready: false } }]);
});

test('skips invalid addresses and those beyond the maximum with an Event, ready ones last', () => {
  const { create, events } = planned({
    endpoints: endpointsWith([
      {
        addresses: [{ ip: '192.0.2.1' }, { ip: 'not an address' }],
        notReadyAddresses: [{ ip: '192.0.2.2' }, { ip: '192.0.2.3' }, { ip: '192.0.2.4' }],
      },
    ]),
    maxEndpointsPerSubset: 2,
  });
  assert.deepEqual(
    create.flatMap(({ endpoints }) => endpoints?.flatMap(({ addresses }) => addresses)),
    ['192.0.2.1', '192.0.2.2'],
  );
  assert.deepEqual(events, [
    {
      type: 'Warning',
      reason: 'InvalidIPAddress',
      message: 'Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
    },
    {
      type: 'Warning',
      reason: 'TooManyAddressesToMirror',
      message: 'A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped',
    },
  ]);
});

test('SRV-5 copies srvServiceName while the gate is on, and updates a mirror in place', () => {
  const endpoints = endpointsWith([{ ...one, ports: [{ port: 88, srvServiceName: 'kerberos' }] }]);
  const on = applied([], planned({ endpoints }));
  assert.equal(on[0]?.ports?.[0]?.srvServiceName, 'kerberos');
  const turned = planned({ endpoints, slices: on, gates: gatesWith({ SRVServiceName: false }) });
  assert.deepEqual([turned.create, turned.update.length, turned.remove], [[], 1, []]);
  assert.deepEqual(turned.update[0]?.ports, [{ name: '', protocol: 'TCP', port: 88 }]);
});

test('the plan is idempotent; a changed address, label or annotation updates the mirror', () => {
  const slices = applied([], planned({}));
  assert.deepEqual(planned({ slices }), nothing);
  const changes = [
    endpointsWith([{ ...one, addresses: [{ ip: '192.0.2.7' }] }]),
    endpointsWith([one], { labels: { new: '1' } }),
    endpointsWith([one], { annotations: { new: '1' } }),
  ];
  for (const endpoints of changes) {
    const { create, update, remove } = planned({ endpoints, slices });
    assert.deepEqual([create, update.map(({ metadata }) => metadata.name), remove], [[], ['web-0001'], []]);
    assert.deepEqual(planned({ endpoints, slices: update }), nothing);
  }
});
