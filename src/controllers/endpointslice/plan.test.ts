import assert from 'node:assert/strict';
import { test } from 'node:test';

import { gatesWith } from '../../api/gates.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { PodSettings } from '../testing/objects.ts';
import { applied, nodes, pod, service, serviceWithoutSelector } from '../testing/objects.ts';
import type { Observed, Plan } from './plan.ts';
import { plan } from './plan.ts';

const planned = (observed: Partial<Observed>): Plan =>
  plan({ service: service(), pods: [], nodes: nodes(), slices: [], gates: gatesWith(), ...observed });

/** The slices of the first plan of a Service. */
const slicesOf = (observed: Partial<Observed>): EndpointSlice[] => applied([], planned(observed));

const labels = {
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
};

test('a new slice carries exact labels, owner, prefix and endpoint', () => {
  const made = planned({
    service: service({}, { labels: { team: 'a', 'kubernetes.io/service-name': 'lie' }, annotations: { note: 'x' } }),
    pods: [pod('web-1')],
    nodes: nodes({ n1: 'zone-a' }),
    triggerTime: '2026-01-01T00:00:00Z',
  });
  assert.deepEqual(made, {
    create: [
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          generateName: 'web-',
          namespace: 'shop',
          labels: { team: 'a', ...labels },
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Service',
              name: 'web',
              uid: 'web-uid',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
          annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
        },
        addressType: 'IPv4',
        endpoints: [
          {
            addresses: ['10.0.0.1'],
            conditions: { ready: true, serving: true, terminating: false },
            targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'web-1-uid' },
            nodeName: 'n1',
            zone: 'zone-a',
          },
        ],
        ports: [{ name: '', protocol: 'TCP', port: 8080 }],
      },
    ],
    update: [],
    remove: [],
    events: [],
    missingNodes: [],
  });
});

test('plans nothing for a Service without a selector, an ExternalName or a deleted Service', () => {
  const slices = slicesOf({ pods: [pod('web-1')] });
  const nothing = { create: [], update: [], remove: [], events: [], missingNodes: [] };
  for (const given of [undefined, serviceWithoutSelector(), service({ type: 'ExternalName' })]) {
    assert.deepEqual(planned({ service: given, slices, pods: [pod('web-2')] }), nothing);
  }
});

/** What is published about one Pod. */
const conditionCases: readonly {
  readonly name: string;
  readonly pod: PodSettings;
  readonly all?: boolean;
  readonly want: string;
}[] = [
  { name: 'a ready Pod', pod: {}, want: 'ready serving' },
  { name: 'a Pod that is not ready', pod: { ready: false }, want: '' },
  { name: 'a terminating ready Pod', pod: { terminating: true }, want: 'serving terminating' },
  { name: 'a terminating Pod that is not ready', pod: { terminating: true, ready: false }, want: 'terminating' },
  { name: 'publishNotReadyAddresses', pod: { ready: false }, all: true, want: 'ready' },
  {
    name: 'publishNotReadyAddresses and terminating',
    pod: { terminating: true },
    all: true,
    want: 'ready serving terminating',
  },
  { name: 'a Pod that succeeded', pod: { phase: 'Succeeded' }, want: 'none' },
  { name: 'a Pod that failed', pod: { phase: 'Failed' }, all: true, want: 'none' },
  { name: 'a Pod without an address', pod: { ips: [] }, want: 'none' },
  { name: 'a Pod of another family', pod: { ips: ['2001:db8::1'] }, want: 'none' },
  { name: 'a Pod with other labels', pod: { labels: { app: 'db' } }, want: 'none' },
  { name: 'a Pod of another namespace', pod: { namespace: 'other' }, want: 'none' },
  { name: 'a Pod whose node does not exist', pod: { node: 'gone' }, want: 'none' },
  {
    name: 'a Pod whose node does not exist, with publishNotReadyAddresses',
    pod: { node: 'gone' },
    all: true,
    want: 'ready serving',
  },
  { name: 'a Pod without a node', pod: { node: '' }, want: 'ready serving' },
];

for (const { name, pod: settings, all = false, want } of conditionCases) {
  test(`conditions: ${name}`, () => {
    const [slice] = slicesOf({
      service: service({ publishNotReadyAddresses: all }),
      pods: [pod('web-1', settings)],
    });
    const [endpoint] = slice?.endpoints ?? [];
    const { conditions } = endpoint ?? {};
    const words = (['ready', 'serving', 'terminating'] as const).filter((word) => conditions?.[word]);
    assert.equal(endpoint === undefined ? 'none' : words.join(' '), want);
    assert.equal(conditions === undefined || Object.values(conditions).every((value) => value !== undefined), true);
  });
}

test('reports missing nodes', () => {
  const { missingNodes } = planned({ pods: [pod('a', { node: 'n9' }), pod('b', { node: 'n8' }), pod('c')] });
  assert.deepEqual(missingNodes, ['n8', 'n9']);
});

test('publishes the hostname only for the Service that is the subdomain of the Pod', () => {
  const hostnames = slicesOf({
    pods: [
      pod('a', { spec: { hostname: 'db-0', subdomain: 'web' } }),
      pod('b', { ips: ['10.0.0.2'], spec: { hostname: 'db-1', subdomain: 'other' } }),
      pod('c', { ips: ['10.0.0.3'], spec: { hostname: 'db-2' } }),
    ],
  }).flatMap(({ endpoints }) => endpoints?.map(({ hostname }) => hostname));
  assert.deepEqual(hostnames, ['db-0', undefined, undefined]);
});

const headlessCases = [
  { name: 'None', given: service({ clusterIP: 'None' }), want: '' },
  { name: 'no address', given: service({ clusterIP: '' }), want: '' },
  {
    name: 'an address, although the Service has the label',
    given: service({}, { labels: { 'service.kubernetes.io/headless': '' } }),
    want: undefined,
  },
];
for (const { name, given, want } of headlessCases) {
  test(`the headless label: ${name}`, () => {
    assert.equal(slicesOf({ service: given })[0]?.metadata.labels?.['service.kubernetes.io/headless'], want);
  });
}

test('a dual-stack Service has slices of both families, each with canonical addresses', () => {
  const slices = slicesOf({
    service: service({ ipFamilies: ['IPv6', 'IPv4'] }),
    pods: [pod('a', { ips: ['10.0.0.010', '2001:DB8:0::1'] }), pod('b', { ips: ['10.0.0.2'] })],
  });
  assert.deepEqual(
    slices.map(({ addressType, endpoints }) => [addressType, endpoints?.flatMap(({ addresses }) => addresses)]),
    [
      ['IPv6', ['2001:db8::1']],
      ['IPv4', ['10.0.0.10', '10.0.0.2']],
    ],
  );
});

test('deletes slices of a family that the Service no longer has', () => {
  const dual = service({ ipFamilies: ['IPv4', 'IPv6'] });
  const pods = [pod('a', { ips: ['10.0.0.1', '2001:db8::1'] })];
  const { create, update, remove } = planned({ pods, slices: slicesOf({ service: dual, pods }) });
  assert.deepEqual([create, update, remove.map(({ addressType }) => addressType)], [[], [], ['IPv6']]);
});

const familyCases: readonly (readonly [string, Service, readonly string[]])[] = [
  ['an IPv6 address', service({ ipFamilies: [], clusterIP: '2001:db8::5' }), ['IPv6']],
  ['an IPv4 address', service({ ipFamilies: [] }), ['IPv4']],
  ['headless', service({ ipFamilies: [], clusterIP: 'None' }), ['IPv4', 'IPv6']],
];
for (const [name, given, want] of familyCases) {
  test(`the families of a Service that does not list them: ${name}`, () => {
    assert.deepEqual(
      planned({ service: given }).create.map(({ addressType }) => addressType),
      want,
    );
  });
}

test('a Service without Pods has one empty slice per family, which is stable', () => {
  const given = { service: service({ ipFamilies: ['IPv4', 'IPv6'] }) };
  const slices = slicesOf(given);
  assert.deepEqual(
    slices.map(({ addressType, endpoints, ports }) => ({ addressType, endpoints, ports })),
    [
      { addressType: 'IPv4', endpoints: [], ports: [] },
      { addressType: 'IPv6', endpoints: [], ports: [] },
    ],
  );
  assert.deepEqual(planned({ ...given, slices }), planned({ service: undefined }));
});

test('reuses the last slice as the placeholder, and the placeholder as the first slice', () => {
  const filled = slicesOf({ pods: [pod('a')] });
  const emptied = planned({ slices: filled });
  assert.deepEqual([emptied.create, emptied.remove, emptied.update.length], [[], [], 1]);
  const placeholder = applied(filled, emptied);
  assert.deepEqual(placeholder[0]?.ports, []);
  const again = applied(placeholder, planned({ slices: placeholder, pods: [pod('a')] }));
  assert.deepEqual(again, filled);
});

test('deletes slices of an earlier Service of the same name and does not reuse them', () => {
  const slices = slicesOf({ service: service({}, { uid: 'earlier' }), pods: [pod('a')] });
  const { create, update, remove } = planned({ slices, pods: [pod('a')] });
  assert.deepEqual([create.length, update.length, remove], [1, 0, slices]);
});

test('does not modify slices of other controllers or Services, or slices that are being deleted', () => {
  const [slice] = slicesOf({ pods: [pod('gone')] });
  assert.ok(slice);
  const changed = (metadata: Partial<EndpointSlice['metadata']>): EndpointSlice => ({
    ...slice,
    metadata: { ...slice.metadata, ...metadata },
  });
  const slices = [
    changed({ labels: { ...labels, 'endpointslice.kubernetes.io/managed-by': 'somebody' } }),
    changed({ labels: { ...labels, 'kubernetes.io/service-name': 'db' } }),
    changed({ namespace: 'other' }),
    changed({ deletionTimestamp: '2026-01-01T00:00:00Z' }),
  ];
  const { update, remove } = planned({ slices });
  assert.deepEqual([update, remove], [[], []]);
});

test('updates but does not create slices of a Service that is being deleted', () => {
  const leaving = service({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.deepEqual(planned({ service: leaving, pods: [pod('a')] }).create, []);
  const slices = slicesOf({ pods: [pod('a')] });
  assert.equal(planned({ service: leaving, pods: [pod('a', { ready: false })], slices }).update.length, 1);
});

test('updates labels from the Service, keeps foreign annotations, and sets or removes the trigger time', () => {
  const pods = [pod('a')];
  const [slice] = slicesOf({
    service: service({}, { labels: { old: '1' } }),
    pods,
    triggerTime: '2026-01-01T00:00:00Z',
  });
  assert.ok(slice);
  const annotated = {
    ...slice,
    metadata: { ...slice.metadata, annotations: { ...slice.metadata.annotations, note: 'kept' } },
  };
  const { update } = planned({ service: service({}, { labels: { new: '2' } }), pods, slices: [annotated] });
  assert.deepEqual(update[0]?.metadata.labels, { new: '2', ...labels });
  assert.deepEqual(update[0]?.metadata.annotations, { note: 'kept' });
  assert.equal(update[0]?.metadata.resourceVersion, '1');
});

test('does not write for a new trigger time alone', () => {
  const pods = [pod('a')];
  const slices = slicesOf({ pods, triggerTime: '2026-01-01T00:00:00Z' });
  assert.deepEqual(planned({ pods, slices, triggerTime: '2026-02-02T00:00:00Z' }).update, []);
});

test('updates the endpoint in place if a Pod is recreated with another UID', () => {
  const slices = slicesOf({ pods: [pod('a'), pod('b', { ips: ['10.0.0.2'] })] });
  const { update } = planned({ slices, pods: [pod('a', { uid: 'second' }), pod('b', { ips: ['10.0.0.2'] })] });
  assert.deepEqual(
    update.flatMap(({ endpoints }) => endpoints?.map(({ targetRef }) => targetRef?.uid)),
    ['second', 'b-uid'],
  );
});

test('uses the bare name as prefix if a hyphen would make it too long', () => {
  const name = 'a'.repeat(254);
  assert.equal(planned({ service: service({}, { name }) }).create[0]?.metadata.generateName, name);
});
