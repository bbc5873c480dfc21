import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Entry } from '../../store/store.ts';
import { planClaims } from './claim-plan.ts';
import { addressClaim, addressPrefix, portClaim, portPrefix } from './claims.ts';
import { serviceWith } from './testing/cluster.ts';

const web = serviceWith('web', {
  type: 'LoadBalancer',
  clusterIPs: ['10.0.0.5', 'fd00::5'],
  healthCheckNodePort: 30009,
  ports: [
    { port: 53, protocol: 'TCP', nodePort: 30001 },
    { port: 53, protocol: 'UDP', nodePort: 30001 },
  ],
});
const copy: Service = { ...web, metadata: { ...web.metadata, name: 'copy' } };
const headless = serviceWith('headless', { clusterIPs: ['None'], ports: [{ port: 80 }] });

const made = { family: 'IPv4', uid: 'u', now: '2026-01-01T00:00:00Z' } as const;
const entry = (key: string, value: string): Entry => ({ key, value, revision: 7, created: 7 });
const address = (service: Service, ip: string): Entry =>
  entry(addressPrefix + ip, addressClaim(service, { ...made, ip }));
const port = (service: Service, number: number): Entry => entry(`${portPrefix}${number}`, portClaim(service));
const gateway = entry(
  `${addressPrefix}10.0.0.5`,
  '{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"10.0.0.5"},"spec":{"parentRef":' +
    '{"group":"gateway.networking.k8s.io","resource":"gateways","namespace":"shop","name":"web"}}}',
);
const garbage = entry(`${addressPrefix}10.0.0.9`, '\u0000');
const all = [address(web, '10.0.0.5'), address(web, 'fd00::5'), port(web, 30001), port(web, 30009)];

interface Case {
  readonly name: string;
  readonly services: readonly Service[];
  readonly claims: readonly Entry[];
  readonly missing?: readonly string[];
  readonly orphaned?: readonly string[];
  readonly contested?: readonly string[];
}

const cases: readonly Case[] = [
  { name: 'every Service has its claims', services: [web, headless], claims: all },
  {
    name: 'a Service has no claims, as from a kube-apiserver',
    services: [web],
    claims: all.slice(0, 2),
    missing: ['nodeports/30009', 'nodeports/30001'],
  },
  {
    name: 'a claim is of a Service that was deleted',
    services: [],
    claims: all,
    orphaned: ['ipaddresses/10.0.0.5', 'ipaddresses/fd00::5', 'nodeports/30001', 'nodeports/30009'],
  },
  {
    name: 'the port of a deleted Service is in use again',
    services: [web],
    claims: [...all.slice(0, 3), port(copy, 30009)],
    missing: ['nodeports/30009'],
  },
  {
    name: 'two Services have one port',
    services: [web, serviceWith('other', { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }] })],
    claims: all,
    contested: ['nodeports/30001'],
  },
  { name: 'the address belongs to a Gateway', services: [web], claims: [gateway, ...all.slice(1)] },
  { name: 'a claim without a Service cannot be read', services: [web], claims: [...all, garbage] },
  {
    name: 'a claim that a Service needs cannot be read',
    services: [web],
    claims: [entry(`${addressPrefix}10.0.0.5`, '{'), ...all.slice(1)],
    missing: ['ipaddresses/10.0.0.5'],
  },
];
for (const { name, services, claims, missing = [], orphaned = [], contested = [] } of cases) {
  test(`plans claims where ${name}`, () => {
    const plan = planClaims(services, claims);
    const short = ({ key }: { readonly key: string }): string => key.split('/').slice(-2).join('/');
    assert.deepEqual(plan.missing.map(short), missing);
    assert.deepEqual(plan.orphaned.map(short), orphaned);
    assert.deepEqual(plan.contested.map(short), contested);
  });
}
