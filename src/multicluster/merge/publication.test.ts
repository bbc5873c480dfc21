import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { MergedPublication } from '../../api/kinds/multicluster/publication.ts';
import { serviceExport, http, record, superclusterExport, service, web } from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import { merge } from './merge.ts';

const balanced = (ip: string, annotations: Readonly<Record<string, string>> = {}): Service => ({
  ...service({ type: 'LoadBalancer', ports: [http] }, { annotations }),
  status: { loadBalancer: { ingress: [{ ip }] } },
});
const named = { 'fairlead.dev/hostname': 'shop.example.org' };
const ports = [{ label: 'http', protocol: 'TCP', port: 80 } as const];

const publicationOf = (east: RecordSettings, west: RecordSettings): MergedPublication | undefined =>
  merge(web, [record('east', east), record('west', { day: 2, ...west })]).views.clusterset?.publication;

describe('the public name of a merged service', () => {
  const both = (hostname = 'shop.example.org') => ({
    hostname,
    clusters: [
      { cluster: 'east', targets: ['192.0.2.1'], ports },
      { cluster: 'west', targets: ['192.0.2.2'], ports },
    ],
  });

  test('has the addresses and open ports of the load balancers of all clusters', () => {
    const west = { service: balanced('192.0.2.2', named) };
    assert.deepEqual(publicationOf({ service: balanced('192.0.2.1', named) }, west), both());
    assert.deepEqual(publicationOf({ service: balanced('192.0.2.1') }, west), both(), 'one cluster names it for all');
  });

  test('is read from either export, and the annotation of ExternalDNS counts', () => {
    const alpha = { 'external-dns.alpha.kubernetes.io/hostname': 'b.example.org, A.example.org' };
    for (const exported of [
      { superclusterExport: superclusterExport({ annotations: alpha }) },
      { serviceExport: serviceExport({ annotations: alpha }) },
    ]) {
      const east = { service: balanced('192.0.2.1'), ...exported };
      assert.deepEqual(publicationOf(east, { service: balanced('192.0.2.2') }), both('a.example.org,b.example.org'));
    }
  });

  test('is that of the oldest export; a cluster with another name is left out', () => {
    const other = { 'fairlead.dev/hostname': 'other.example.org' };
    const publication = publicationOf(
      { service: balanced('192.0.2.1', named) },
      { service: balanced('192.0.2.2', other) },
    );
    assert.deepEqual(publication, { ...both(), clusters: both().clusters.slice(0, 1) });
  });

  test('has the TTL of the cluster that names it, and targets of an annotation instead of addresses', () => {
    const east = { ...named, 'fairlead.dev/ttl': '30', 'fairlead.dev/target': 'edge.example.net' };
    const publication = publicationOf({ service: balanced('192.0.2.1', east) }, { service: balanced('192.0.2.2') });
    assert.equal(publication?.ttl, '30');
    assert.deepEqual(publication.clusters[0]?.targets, ['edge.example.net']);
  });

  test('is absent without a host name', () => {
    assert.equal(publicationOf({ service: balanced('192.0.2.1') }, {}), undefined);
  });
});
