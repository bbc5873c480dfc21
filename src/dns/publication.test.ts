import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnswerSink, PreparedName, PreparedZone } from './prepared.ts';
import { Publication } from './publication.ts';
import type { Name, RecordSet } from '../dnswire/data.ts';
import { recordTypes } from '../dnswire/data.ts';
import { openZones } from './records/open-zones.ts';
import type { Zones } from './records/zones.ts';

class Sink implements AnswerSink {
  readonly names = new Map<Name, PreparedName>();
  readonly zones = new Map<Name, PreparedZone>();
  putZone = (zone: PreparedZone): void => void this.zones.set(zone.apex, zone);
  deleteZone = (apex: Name): void => void this.zones.delete(apex);
  put = (name: PreparedName): void => void this.names.set(name.name, name);
  delete = (name: Name): void => void this.names.delete(name);
}

const apex = 'cluster.local';
const web = `web.default.svc.${apex}`;

function setUp(completion?: { readonly zone: Name }): {
  readonly zones: Zones;
  readonly sink: Sink;
  readonly publication: Publication;
  /** Sets the address of a name, as the zone controller does. */
  readonly setAddress: (address: string) => void;
} {
  const zones = openZones({ clusterDomain: apex }, { addresses: ['127.0.0.1'] });
  const sink = new Sink();
  const publication = new Publication({ zones, sink, ...(completion === undefined ? {} : { completion }) });
  const setAddress = (address: string): void => {
    const set: RecordSet = { owner: web, type: 'A', ttl: 5, data: [{ type: 'A', address }] };
    publication.changed(zones.put('Service/default/web', [set]));
  };
  return { zones, sink, publication, setAddress };
}

test('publishes nothing before the first sync, so that no name is denied', () => {
  const { sink, publication, setAddress } = setUp();
  setAddress('10.0.0.1');
  assert.equal(sink.names.size + sink.zones.size, 0);
  publication.open();
  assert.equal(sink.names.get(web)?.zone, apex);
  assert.ok(sink.zones.has(apex) && sink.zones.has('in-addr.arpa') && sink.zones.has('ip6.arpa'));
});

test('publishes a change before the call returns, including names that appear and disappear', () => {
  const { zones, sink, publication, setAddress } = setUp();
  publication.open();
  assert.equal(sink.names.has(web), false);
  setAddress('10.0.0.1');
  assert.ok(sink.names.has(web) && sink.names.has(`default.svc.${apex}`));
  publication.changed(zones.delete('Service/default/web'));
  assert.ok(!sink.names.has(web) && !sink.names.has(`default.svc.${apex}`));
});

test('increments the serial in negative answers and in the SOA record', () => {
  const { sink, publication, setAddress } = setUp();
  publication.open();
  /** The serial in the last 20 bytes of an encoded SOA. */
  const answered = (): number => {
    const soa = sink.names.get(apex)?.answers.find(({ type }) => type === recordTypes.SOA)?.answers?.[0];
    return Buffer.from(soa ?? assert.fail('no SOA')).readUInt32BE((soa?.length ?? 0) - 20);
  };
  for (let last = answered(), change = 1; change < 5; change++) {
    setAddress(`10.0.0.${change}`);
    assert.ok(answered() > last, `${answered()} after ${last}`);
    last = answered();
    assert.equal(sink.zones.get(apex)?.soa.serial, last);
  }
});

test('sends names below namespaces to the slow path with search completion', () => {
  const { sink, publication, setAddress } = setUp({ zone: apex });
  publication.open();
  setAddress('10.0.0.1');
  assert.equal(sink.names.get(`default.svc.${apex}`)?.slowPath, 'descendants');
  assert.equal(sink.names.get(web)?.slowPath, undefined);
});
