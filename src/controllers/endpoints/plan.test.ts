import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { gatesWith } from '../../api/gates.ts';
import type { EndpointAddress, Endpoints, EndpointSubset } from '../../api/kinds/core/endpoints/schema.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { pod, service, serviceWithoutSelector } from '../testing/objects.ts';
import type { Observed, Plan } from './plan.ts';
import { plan, truncated } from './plan.ts';

const planned = (observed: Partial<Observed>): Plan =>
  plan({ service: service(), pods: [], endpoints: undefined, gates: gatesWith(), ...observed });

function made(observed: Partial<Observed>): Endpoints {
  const { create, update } = planned(observed);
  const [endpoints] = [...create, ...update];
  assert.ok(endpoints);
  return endpoints;
}

const nothing = { create: [], update: [], remove: [] };

test('new Endpoints carry exact labels and addresses, and no owner', () => {
  const { create } = planned({
    service: service({}, { labels: { team: 'a' } }),
    pods: [pod('b', { ips: ['10.0.0.2'], ready: false }), pod('a', { spec: { hostname: 'h', subdomain: 'web' } })],
    triggerTime: '2026-01-01T00:00:00Z',
  });
  const reference = (name: string) => ({ kind: 'Pod', namespace: 'shop', name, uid: `${name}-uid` });
  assert.deepEqual(create, [
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name: 'web',
        namespace: 'shop',
        labels: { team: 'a', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
      },
      subsets: [
        {
          addresses: [{ ip: '10.0.0.1', hostname: 'h', nodeName: 'n1', targetRef: reference('a') }],
          notReadyAddresses: [{ ip: '10.0.0.2', nodeName: 'n1', targetRef: reference('b') }],
          ports: [{ protocol: 'TCP', port: 8080 }],
        },
      ],
    },
  ]);
});

test('deletes Endpoints without a Service, unless they are a leader election lock', () => {
  const endpoints = made({});
  assert.deepEqual(planned({ service: undefined, endpoints }), { ...nothing, remove: [endpoints] });
  assert.deepEqual(planned({ service: undefined }), nothing);
  const annotations = { 'control-plane.alpha.kubernetes.io/leader': '{}' };
  const lock = { ...endpoints, metadata: { ...endpoints.metadata, annotations } };
  assert.deepEqual(planned({ service: undefined, endpoints: lock }), nothing);
});

test('does not plan for ExternalName or a Service without a selector', () => {
  const endpoints = made({ pods: [pod('a')] });
  for (const given of [service({ type: 'ExternalName' }), serviceWithoutSelector()]) {
    assert.deepEqual(planned({ service: given, endpoints }), nothing);
    assert.deepEqual(planned({ service: given }), nothing);
  }
});

test('a Service without Pods has Endpoints without subsets', () => {
  assert.equal('subsets' in made({}), false);
});

/** `ready|not ready` addresses. */
const addressCases: readonly (readonly [string, Pod, Service, string])[] = [
  ['ready', pod('a'), service(), '10.0.0.1|'],
  ['not ready', pod('a', { ready: false }), service(), '|10.0.0.1'],
  ['terminating', pod('a', { terminating: true }), service(), '|'],
  ['all wanted', pod('a', { ready: false }), service({ publishNotReadyAddresses: true }), '10.0.0.1|'],
  [
    'terminating, all wanted',
    pod('a', { terminating: true }),
    service({ publishNotReadyAddresses: true }),
    '10.0.0.1|',
  ],
  ['finished', pod('a', { phase: 'Succeeded' }), service({ publishNotReadyAddresses: true }), '|'],
  ['on a node that does not exist', pod('a', { node: 'gone' }), service(), '10.0.0.1|'],
  [
    'the first family alone',
    pod('a', { ips: ['10.0.0.1', '2001:DB8::1'] }),
    service({ ipFamilies: ['IPv6', 'IPv4'] }),
    '2001:db8::1|',
  ],
  ['without the family', pod('a'), service({ ipFamilies: ['IPv6'] }), '|'],
  ['no ports, headless', pod('a'), service({ ports: [], clusterIP: 'None' }), '10.0.0.1|'],
  ['a port it does not have', pod('a'), service({ ports: [{ port: 80, targetPort: 'web' }] }), '|'],
];
for (const [name, one, given, want] of addressCases) {
  test(`addresses: ${name}`, () => {
    const { subsets = [] } = made({ service: given, pods: [one] });
    const text = (list: readonly EndpointAddress[] = []): string => list.map(({ ip }) => ip).join();
    const [subset] = subsets;
    assert.equal(`${text(subset?.addresses)}|${text(subset?.notReadyAddresses)}`, want);
  });
}

test('ports of the same Pods share a subset; a port of some Pods has its own', () => {
  const container = (...names: readonly string[]): Container => ({
    name: 'c',
    resources: {},
    ports: names.map((name, index) => ({ name, containerPort: 1000 + index })),
  });
  const { subsets = [] } = made({
    service: service({
      ports: [
        { name: 'web', port: 80, targetPort: 'web' },
        { name: 'admin', port: 81, targetPort: 'admin' },
        { name: 'plain', port: 82, targetPort: 82 },
      ],
    }),
    pods: [
      pod('a', { spec: { containers: [container('web', 'admin')] } }),
      pod('b', { ips: ['10.0.0.2'], spec: { containers: [container('web')] } }),
    ],
  });
  assert.deepEqual(
    subsets.map(({ addresses = [], ports = [] }) => [addresses.map(({ ip }) => ip), ports.map(({ name }) => name)]),
    [
      [['10.0.0.1'], ['admin']],
      [
        ['10.0.0.1', '10.0.0.2'],
        ['plain', 'web'],
      ],
    ],
  );
});

test('SRV-5 srvServiceName is copied while the gate is on', () => {
  const given = {
    service: service({ ports: [{ port: 88, targetPort: 88, srvServiceName: 'kerberos' }] }),
    pods: [pod('a')],
  };
  const on = made(given);
  assert.equal(on.subsets?.[0]?.ports?.[0]?.srvServiceName, 'kerberos');
  const off = made({ ...given, endpoints: on, gates: gatesWith({ SRVServiceName: false }) });
  assert.equal(JSON.stringify(off).includes('srvServiceName'), false);
});

test('the headless label is set and removed', () => {
  const headless = made({ service: service({ clusterIP: 'None' }) });
  assert.equal(headless.metadata.labels?.['service.kubernetes.io/headless'], '');
  const not = made({ service: service({}, { labels: { 'service.kubernetes.io/headless': '' } }), endpoints: headless });
  assert.equal('service.kubernetes.io/headless' in (not.metadata.labels ?? {}), false);
});

test('keeps foreign annotations, and does not write for a new time or revision alone', () => {
  const first = made({ pods: [pod('a')], triggerTime: '2026-01-01T00:00:00Z' });
  const annotations = { ...first.metadata.annotations, note: 'kept' };
  const endpoints = { ...first, metadata: { ...first.metadata, annotations, resourceVersion: '7' } };
  assert.deepEqual(planned({ pods: [pod('a')], endpoints, triggerTime: '2026-02-02T00:00:00Z' }), nothing);
  const { update } = planned({ pods: [], endpoints });
  assert.deepEqual(update[0]?.metadata.annotations, { note: 'kept' });
  assert.equal(update[0]?.metadata.resourceVersion, '7');
});

const podsOf = (count: number, offset: number, ready: boolean): Pod[] =>
  Array.from({ length: count }, (_, index) => {
    const at = index + offset;
    return pod(`p${at}`, { ips: [`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`], ready });
  });

const truncationCases = [
  { name: 'exactly full', ready: 600, notReady: 400, want: [600, 400], isCut: false },
  { name: 'truncates not ready addresses first', ready: 900, notReady: 300, want: [900, 100], isCut: true },
  {
    name: 'truncates ready addresses if they alone exceed the limit',
    ready: 1200,
    notReady: 5,
    want: [1000, 0],
    isCut: true,
  },
];
for (const { name, ready, notReady, want, isCut } of truncationCases) {
  test(`truncation at 1000 addresses: ${name}`, () => {
    const pods = [...podsOf(ready, 0, true), ...podsOf(notReady, 5000, false)];
    const endpoints = made({ pods });
    const [subset] = endpoints.subsets ?? [];
    assert.deepEqual([subset?.addresses?.length ?? 0, subset?.notReadyAddresses?.length ?? 0], want);
    assert.equal(
      endpoints.metadata.annotations?.['endpoints.kubernetes.io/over-capacity'],
      isCut ? 'truncated' : undefined,
    );
    assert.deepEqual(planned({ pods, endpoints }), nothing);
    const fewer = made({ pods: pods.slice(0, 10), endpoints });
    assert.equal('annotations' in fewer.metadata, false);
  });
}

test('the plan is idempotent and independent of the order of Pods', () => {
  const somePods = fc
    .uniqueArray(
      fc.record({ name: fc.constantFrom(...'abcdefgh'.split('')), ready: fc.boolean(), terminating: fc.boolean() }),
      {
        selector: ({ name }) => name,
      },
    )
    .map((all) =>
      all.map(({ name, ...settings }) => pod(name, { ...settings, ips: [`10.0.0.${name.charCodeAt(0)}`] })),
    );
  fc.assert(
    fc.property(somePods, (pods) => {
      const endpoints = made({ pods });
      assert.deepEqual(planned({ pods: pods.toReversed(), endpoints }), nothing);
      assert.deepEqual(made({ pods: pods.toReversed() }), endpoints);
    }),
    { numRuns: 100 },
  );
});

const addresses = (count: number): EndpointAddress[] => Array.from({ length: count }, () => ({ ip: '192.0.2.1' }));

/** Ready and not ready addresses of each subset. */
type Counts = readonly (readonly [number, number])[];

const cases: readonly { readonly name: string; readonly given: Counts; readonly want: Counts | undefined }[] = [
  { name: 'keeps addresses that fit', given: [[500, 500]], want: undefined },
  {
    name: 'truncates ready addresses in proportion',
    given: [
      [900, 0],
      [300, 50],
    ],
    want: [
      [750, 0],
      [250, 0],
    ],
  },
  {
    name: 'rounds shares up and gives the rest to the last subset',
    given: [
      [1, 0],
      [1, 0],
      [999, 0],
    ],
    want: [
      [1, 0],
      [1, 0],
      [998, 0],
    ],
  },
  {
    name: 'not ready addresses share the room that ready ones leave',
    given: [
      [300, 300],
      [500, 100],
    ],
    want: [
      [300, 150],
      [500, 50],
    ],
  },
  {
    name: 'omits an empty subset',
    given: [
      [1200, 0],
      [0, 10],
    ],
    want: [[1000, 0]],
  },
];

for (const { name, given, want } of cases) {
  test(`truncation: ${name}`, () => {
    const subsets: EndpointSubset[] = given.map(([ready, notReady]) => ({
      addresses: addresses(ready),
      notReadyAddresses: addresses(notReady),
    }));
    const counts = truncated(subsets)?.map((subset) => [
      subset.addresses?.length ?? 0,
      subset.notReadyAddresses?.length ?? 0,
    ]);
    assert.deepEqual(counts, want);
  });
}
