import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importKeysOf, isReady, isServing, isTerminating, portNumberIn, serviceKeyOf, sliceOwners } from './facts.ts';
import type { EndpointConditions, EndpointPort } from './schema.ts';

const owners: readonly {
  name: string;
  labels: Record<string, string>;
  service?: string;
  imports?: string[];
  kinds?: string[];
}[] = [
  { name: 'no labels', labels: {} },
  { name: 'an empty name', labels: { 'kubernetes.io/service-name': '' } },
  { name: 'a Service', labels: { 'kubernetes.io/service-name': 'web' }, service: 'shop/web', kinds: ['Service'] },
  {
    name: 'a ServiceImport',
    labels: { 'multicluster.kubernetes.io/service-name': 'web' },
    imports: ['shop/web'],
    kinds: ['ServiceImport'],
  },
  {
    name: 'one import in both API versions',
    labels: {
      'multicluster.kubernetes.io/service-name': 'web',
      'multicluster.kubernetes.io/imported-service-name': 'web',
    },
    imports: ['shop/web'],
    kinds: ['ServiceImport', 'ImportedService'],
  },
  {
    name: 'two imports and a derived Service',
    labels: {
      'kubernetes.io/service-name': 'derived',
      'multicluster.kubernetes.io/service-name': 'web',
      'multicluster.kubernetes.io/imported-service-name': 'old',
    },
    service: 'shop/derived',
    imports: ['shop/web', 'shop/old'],
    kinds: ['Service', 'ServiceImport', 'ImportedService'],
  },
];

for (const { name, labels, service, imports = [], kinds = [] } of owners) {
  test(`the owners of a slice with ${name}`, () => {
    const slice = { metadata: { namespace: 'shop', name: 'web-1', labels } };
    assert.equal(serviceKeyOf(slice), service);
    assert.deepEqual(importKeysOf(slice), imports);
    assert.deepEqual(
      sliceOwners(slice).map(({ kind }) => kind),
      kinds,
    );
  });
}

const states: readonly { conditions: EndpointConditions; ready?: boolean; serving?: boolean; terminating?: boolean }[] =
  [
    { conditions: {}, ready: true, serving: true },
    { conditions: { ready: true }, ready: true, serving: true },
    { conditions: { ready: false } },
    { conditions: { ready: false, serving: true, terminating: true }, serving: true, terminating: true },
    { conditions: { serving: false }, ready: true },
    { conditions: { terminating: false }, ready: true, serving: true },
  ];

for (const { conditions, ready = false, serving = false, terminating = false } of states) {
  test(`the state of an endpoint with the conditions ${JSON.stringify(conditions)}`, () => {
    const endpoint = { conditions };
    assert.deepEqual([isReady(endpoint), isServing(endpoint), isTerminating(endpoint)], [ready, serving, terminating]);
  });
}

const ports: readonly EndpointPort[] = [
  { name: 'http', port: 8080 },
  { name: 'http', protocol: 'UDP', port: 8081 },
  { port: 9090, protocol: 'TCP' },
  { name: 'any' },
];

for (const [wanted, port] of [
  [{ name: 'http' }, 8080],
  [{ name: 'http', protocol: 'UDP' }, 8081],
  [{ name: '' }, 9090],
  [{}, 9090],
  [{ protocol: 'SCTP' }, undefined],
  [{ name: 'any' }, undefined],
] as const) {
  test(`the number of the port ${JSON.stringify(wanted)} is ${port}`, () => {
    assert.equal(portNumberIn({ ports }, wanted), port);
  });
}
