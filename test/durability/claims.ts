import assert from 'node:assert/strict';

import type { Entry } from '../../src/store/store.ts';

interface StoredService {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly { readonly nodePort?: number }[];
  };
}

interface StoredAddress {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly parentRef: { readonly namespace: string; readonly name: string } };
}

/** Checks that every address and port of a Service has a claim, and that every claim belongs to a Service that uses it. */
export function checkClaims(entries: readonly Entry[]): void {
  const used = under(entries, '/registry/services/').flatMap(({ value }) => {
    const { metadata, spec } = JSON.parse(value) as StoredService;
    const owner = `${metadata.namespace}/${metadata.name}`;
    const addresses = (spec.clusterIPs ?? []).filter((ip) => ip !== 'None').map((ip) => `${ip} ${owner}`);
    const ports = (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort === undefined ? [] : `${nodePort} ${owner}`));
    return [...addresses, ...new Set(ports)];
  });
  const addresses = under(entries, '/registry/networking.k8s.io/ipaddresses/').map(({ value }) => {
    const { metadata, spec } = JSON.parse(value) as StoredAddress;
    return `${metadata.name} ${spec.parentRef.namespace}/${spec.parentRef.name}`;
  });
  const ports = under(entries, '/registry/nodeports/').map(({ key, value }) => {
    const owner = JSON.parse(value) as { readonly namespace: string; readonly name: string };
    return `${key.slice(key.lastIndexOf('/') + 1)} ${owner.namespace}/${owner.name}`;
  });
  assert.deepEqual(used.toSorted(), [...addresses, ...ports].toSorted());
}

const under = (entries: readonly Entry[], prefix: string): Entry[] =>
  entries.filter(({ key }) => key.startsWith(prefix));
