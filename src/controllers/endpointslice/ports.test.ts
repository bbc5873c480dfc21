import assert from 'node:assert/strict';
import { test } from 'node:test';

import { gatesWith } from '../../api/gates.ts';
import type { Container } from '../../api/kinds/core/pod/schema.ts';
import type { ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { applied, nodes, pod, service } from '../testing/objects.ts';
import type { Observed, Plan } from './plan.ts';
import { plan } from './plan.ts';

const planned = (observed: Partial<Observed>): Plan =>
  plan({ service: service(), pods: [], nodes: nodes(), slices: [], gates: gatesWith(), ...observed });

const container = (
  ports: readonly { name: string; containerPort: number; protocol?: 'TCP' | 'UDP' }[],
  restartPolicy?: string,
): Container => ({ name: 'c', resources: {}, ports, ...(restartPolicy === undefined ? {} : { restartPolicy }) });

/** `name:protocol:port` of every slice. */
const texts = (slices: readonly EndpointSlice[]): string[] =>
  slices.map(({ ports }) => (ports ?? []).map(({ name, protocol, port }) => `${name}:${protocol}:${port}`).join(' '));

const cases: readonly {
  readonly name: string;
  readonly ports: readonly ServicePort[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly want: readonly string[];
}[] = [
  { name: 'a numeric target port', ports: [{ port: 80, targetPort: 8080 }], want: [':TCP:8080'] },
  { name: 'the target port defaults to the port', ports: [{ port: 80 }], want: [':TCP:80'] },
  {
    name: 'resolves a name to a container port of the same protocol',
    ports: [
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 'dns' },
      { name: 'dns-udp', port: 53, protocol: 'UDP', targetPort: 'dns' },
    ],
    containers: [
      container([
        { name: 'dns', containerPort: 1053, protocol: 'UDP' },
        { name: 'dns', containerPort: 2053 },
      ]),
    ],
    want: ['dns-tcp:TCP:2053 dns-udp:UDP:1053'],
  },
  {
    name: 'omits only the port that the Pod does not have',
    ports: [
      { name: 'web', port: 80, targetPort: 'web' },
      { name: 'admin', port: 81, targetPort: 'admin' },
    ],
    containers: [container([{ name: 'web', containerPort: 8080 }])],
    want: ['web:TCP:8080'],
  },
  {
    name: 'publishes a Pod without any of the ports',
    ports: [{ name: 'web', port: 80, targetPort: 'web' }],
    containers: [container([{ name: 'web', containerPort: 8080, protocol: 'UDP' }])],
    want: [''],
  },
  {
    name: 'uses ports of sidecars but not of other init containers',
    ports: [
      { name: 'mesh', port: 80, targetPort: 'mesh' },
      { name: 'setup', port: 81, targetPort: 'setup' },
    ],
    initContainers: [
      container([{ name: 'setup', containerPort: 1 }]),
      container([{ name: 'mesh', containerPort: 15001 }], 'Always'),
    ],
    want: ['mesh:TCP:15001'],
  },
  {
    name: 'containers win over sidecars',
    ports: [{ name: 'web', port: 80, targetPort: 'web' }],
    containers: [container([{ name: 'web', containerPort: 8080 }])],
    initContainers: [container([{ name: 'web', containerPort: 9090 }], 'Always')],
    want: ['web:TCP:8080'],
  },
  { name: 'a headless Service may have no ports', ports: [], want: [''] },
];

for (const { name, ports, containers = [], initContainers = [], want } of cases) {
  test(`ports: ${name}`, () => {
    const { create } = planned({
      service: service({ ports, clusterIP: 'None' }),
      pods: [pod('a', { spec: { containers, initContainers } })],
    });
    assert.deepEqual(texts(create), want);
    assert.equal(create[0]?.endpoints?.length, 1);
  });
}

test('Pods on which a port name has different numbers are in different slices', () => {
  const on = (containerPort: number) => ({ containers: [container([{ name: 'web', containerPort }])] });
  const given = {
    service: service({ ports: [{ name: 'web', port: 80, targetPort: 'web' }] }),
    pods: [pod('a', { spec: on(2) }), pod('b', { ips: ['10.0.0.2'], spec: on(1) })],
  };
  const { create } = planned(given);
  assert.deepEqual(texts(create), ['web:TCP:1', 'web:TCP:2']);
  assert.deepEqual(planned({ ...given, slices: applied([], { create, update: [], remove: [] }) }).update, []);
});

const kerberos = service({
  ports: [
    { name: 'kerberos-tcp', port: 88, protocol: 'TCP', targetPort: 88, srvServiceName: 'kerberos', appProtocol: 'krb' },
    { name: 'kerberos-udp', port: 88, protocol: 'UDP', targetPort: 88, srvServiceName: 'kerberos' },
  ],
});

test('SRV-5 srvServiceName is copied next to appProtocol while the gate is on', () => {
  assert.deepEqual(planned({ service: kerberos, pods: [pod('a')] }).create[0]?.ports, [
    { name: 'kerberos-tcp', protocol: 'TCP', port: 88, appProtocol: 'krb', srvServiceName: 'kerberos' },
    { name: 'kerberos-udp', protocol: 'UDP', port: 88, srvServiceName: 'kerberos' },
  ]);
});

test('SRV-9 toggling the gate removes and restores the field by updating the same slice', () => {
  const pods = [pod('a')];
  const on = applied([], planned({ service: kerberos, pods }));
  const turnedOff = planned({ service: kerberos, pods, slices: on, gates: gatesWith({ SRVServiceName: false }) });
  assert.deepEqual([turnedOff.create.length, turnedOff.update.length, turnedOff.remove.length], [0, 1, 0]);
  const off = applied(on, turnedOff);
  assert.equal(JSON.stringify(off).includes('srvServiceName'), false);
  assert.deepEqual(applied(off, planned({ service: kerberos, pods, slices: off })), on);
});

test('ignores the order of ports', () => {
  const pods = [pod('a')];
  const slices = applied([], planned({ service: kerberos, pods }));
  const turned = slices.map((slice) => ({ ...slice, ports: slice.ports?.toReversed() ?? null }));
  assert.deepEqual(planned({ service: kerberos, pods, slices: turned }).update, []);
});
