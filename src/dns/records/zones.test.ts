import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import type { Name, RecordSet } from '../../dnswire/data.ts';
import { isWithin, parentOf } from '../../dnswire/name.ts';
import type { SourceSet } from './zones.ts';
import { Zones } from './zones.ts';

const zone = 'cluster.local';

const a = (owner: Name, ...addresses: readonly string[]): RecordSet => ({
  owner,
  type: 'A',
  ttl: 30,
  data: addresses.map((address) => ({ type: 'A', address })),
});

const ptr = (owner: Name, target: Name, rank = 0): SourceSet => ({
  owner,
  type: 'PTR',
  ttl: 30,
  data: [{ type: 'PTR', target }],
  rank,
});

const srv = (owner: Name, port: number, target: Name): RecordSet => ({
  owner,
  type: 'SRV',
  ttl: 30,
  data: [{ type: 'SRV', priority: 0, weight: 100, port, target }],
});

const addressesAt = (zones: Zones, name: Name): readonly string[] | undefined =>
  zones
    .find(name)
    ?.sets.get('A')
    ?.data.map((record) => (record.type === 'A' ? record.address : record.type));

describe('names', () => {
  it('are split at dots that are not escaped', () => {
    assert.equal(parentOf('a.b.c'), 'b.c');
    assert.equal(parentOf('c'), '');
    assert.equal(parentOf(''), undefined);
    assert.equal(parentOf('a\\.b.c'), 'c');
    assert.equal(parentOf('a\\\\.b.c'), 'b.c');
    assert.equal(isWithin('a.b', 'b'), true);
    assert.equal(isWithin('b', 'b'), true);
    assert.equal(isWithin('ab', 'b'), false);
    assert.equal(isWithin('a\\.b', 'b'), false);
    assert.equal(isWithin('a.b', ''), true);
  });
});

describe('Zones', () => {
  it('contains only the apex at first', () => {
    const zones = new Zones([{ apex: zone }], { now: () => 1_800_000_000_000 });
    const apex = zones.find(zone);
    assert.deepEqual([...(apex?.sets.keys() ?? [])], ['SOA']);
    assert.deepEqual(apex?.sets.get('SOA'), {
      owner: zone,
      type: 'SOA',
      ttl: 5,
      data: [
        {
          type: 'SOA',
          primary: 'ns.dns.cluster.local',
          mailbox: 'hostmaster.cluster.local',
          serial: 1_800_000_000,
          refresh: 7200,
          retry: 1800,
          expire: 86_400,
          minimum: 5,
        },
      ],
    });
    assert.equal(zones.find('x.cluster.local'), undefined);
    assert.equal(zones.find('local'), undefined);
    assert.equal(zones.closest('a.b.cluster.local')?.name, zone);
    assert.equal(zones.closest('example.org'), undefined);
  });

  it('adds, removes and reports empty non-terminals', () => {
    const zones = new Zones([{ apex: zone }]);
    const names = ['_http._tcp.web.default.svc.cluster.local', 'web.default.svc.cluster.local'];
    const above = ['_tcp.web.default.svc.cluster.local', 'default.svc.cluster.local', 'svc.cluster.local'];
    const reported = zones.put('Service/default/web', [a(names[1] ?? '', '10.0.0.1'), srv(names[0] ?? '', 80, 'w')]);
    assert.deepEqual(reported.toSorted(), [...names, ...above].toSorted());
    assert.equal(zones.find('_tcp.web.default.svc.cluster.local')?.sets.size, 0);
    assert.deepEqual([...zones.names(zone)].toSorted(), [zone, ...names, ...above].toSorted());
    assert.deepEqual(zones.delete('Service/default/web').toSorted(), [...names, ...above].toSorted());
    assert.deepEqual([...zones.names(zone)], [zone]);
  });

  it('keeps a name with a set without data', () => {
    const zones = new Zones([{ apex: zone }]);
    zones.put('Namespace/shop', [a('shop.svc.cluster.local')]);
    assert.equal(zones.find('shop.svc.cluster.local')?.sets.size, 0);
    zones.delete('Namespace/shop');
    assert.equal(zones.find('shop.svc.cluster.local'), undefined);
  });

  it('merges sources without duplicates, in an order that depends only on the records', () => {
    const name = 'web.cluster.local';
    const sources: readonly (readonly [string, RecordSet])[] = [
      ['b', a(name, '10.0.0.2', '10.0.0.1')],
      ['a', { ...a(name, '10.0.0.3', '10.0.0.2'), ttl: 5 }],
    ];
    for (const order of [sources, sources.toReversed()]) {
      const zones = new Zones([{ apex: zone }]);
      for (const [source, set] of order) zones.put(source, [set]);
      assert.deepEqual(addressesAt(zones, name), ['10.0.0.3', '10.0.0.2', '10.0.0.1']);
      assert.equal(zones.find(name)?.sets.get('A')?.ttl, 5);
      assert.deepEqual(zones.find(name)?.sources(), ['a', 'b']);
      assert.deepEqual(
        zones
          .find(name)
          ?.explain()
          .map(({ source, set }) => [source, set.data.length]),
        [
          ['a', 2],
          ['b', 2],
        ],
      );
    }
  });

  it('orders records by rank', () => {
    const zones = new Zones([{ apex: 'in-addr.arpa' }]);
    zones.put('a', [ptr('1.0.0.10.in-addr.arpa', 'late', 1)]);
    zones.put('b', [ptr('1.0.0.10.in-addr.arpa', 'first')]);
    const targets = zones.find('1.0.0.10.in-addr.arpa')?.sets.get('PTR')?.data;
    assert.deepEqual(targets, [
      { type: 'PTR', target: 'first' },
      { type: 'PTR', target: 'late' },
    ]);
  });

  it('reports exactly the changed names', () => {
    const zones = new Zones([{ apex: zone }]);
    const sets = Array.from({ length: 50 }, (_, index) => a(`n${index}.cluster.local`, '10.0.0.1'));
    zones.put('s', sets);
    assert.deepEqual(zones.put('s', structuredClone(sets)), []);
    const changed = sets.with(20, a('n20.cluster.local', '10.0.0.2'));
    assert.deepEqual(zones.put('s', changed), ['n20.cluster.local']);
    assert.deepEqual(zones.put('s', changed.toSpliced(30, 1)), ['n30.cluster.local']);
    assert.deepEqual(zones.put('s', changed.toSpliced(30, 1).toReversed()), []);
  });

  it('reports the owner of an SRV record when the addresses of its target change', () => {
    const zones = new Zones([{ apex: zone }]);
    const put = (address: string): readonly Name[] =>
      zones.put('s', [
        a('web-0.web.cluster.local', address),
        srv('_http._tcp.web.cluster.local', 80, 'web-0.web.cluster.local'),
      ]);
    put('10.0.0.1');
    assert.deepEqual(put('10.0.0.2').toSorted(), ['_http._tcp.web.cluster.local', 'web-0.web.cluster.local']);
  });

  it('ignores names outside all zones', () => {
    const zones = new Zones([{ apex: zone }]);
    assert.deepEqual(zones.put('s', [a('www.example.org', '10.0.0.1')]), []);
    assert.deepEqual([...zones.sources()], []);
  });

  it('supports zones inside zones', () => {
    const zones = new Zones([{ apex: '96.10.in-addr.arpa' }, { apex: 'in-addr.arpa', fallthrough: true }]);
    assert.equal(zones.find('10.in-addr.arpa')?.zone.apex, 'in-addr.arpa');
    assert.equal(zones.find('96.10.in-addr.arpa')?.zone.apex, '96.10.in-addr.arpa');
    assert.equal(zones.zoneOf('1.0.96.10.in-addr.arpa')?.apex, '96.10.in-addr.arpa');
    assert.equal(zones.zoneOf('1.0.97.10.in-addr.arpa')?.fallthrough, true);
    zones.put('s', [ptr('1.0.96.10.in-addr.arpa', 'x')]);
    assert.deepEqual([...zones.names('in-addr.arpa')], ['in-addr.arpa', '10.in-addr.arpa']);
    assert.throws(() => new Zones([{ apex: zone }, { apex: zone }]), /zone "cluster.local" is given twice/);
  });

  it('builds names below a dynamic name on demand', () => {
    const encloser = 'default.pod.cluster.local';
    const zones = new Zones([{ apex: zone }], {
      onDemand: (name, above) =>
        name === `10-0-0-1.${encloser}` && above === encloser ? [a(name, '10.0.0.1')] : undefined,
    });
    assert.deepEqual(zones.put('Namespace/default', [], [encloser]), [encloser, 'pod.cluster.local']);
    assert.equal(zones.find(encloser)?.dynamic, true);
    assert.equal(zones.find(encloser)?.onDemand, false);
    assert.equal(zones.find(`10-0-0-1.${encloser}`)?.onDemand, true);
    assert.deepEqual(addressesAt(zones, `10-0-0-1.${encloser}`), ['10.0.0.1']);
    assert.deepEqual(zones.find(`10-0-0-1.${encloser}`)?.sources(), ['Namespace/default']);
    assert.equal(zones.find(`x.10-0-0-1.${encloser}`), undefined);
    assert.equal(zones.find('10-0-0-1.other.pod.cluster.local'), undefined);
  });

  it('increments the serial regardless of the clock', () => {
    let seconds = 1000;
    const zones = new Zones([{ apex: zone }, { apex: 'other' }], { now: () => seconds * 1000 });
    const serial = (apex: Name): number => {
      const [soa] = zones.zoneOf(apex)?.soa().data ?? [];
      return soa?.type === 'SOA' ? soa.serial : -1;
    };
    const change = (address: string): void => void zones.put('s', [a('x.cluster.local', address)]);
    assert.equal(serial(zone), 1000);
    change('10.0.0.1');
    assert.equal(serial(zone), 1001);
    change('10.0.0.2');
    assert.equal(serial(zone), 1002, 'twice in a second');
    change('10.0.0.2');
    assert.equal(serial(zone), 1002, 'nothing changed');
    seconds = 900;
    change('10.0.0.3');
    assert.equal(serial(zone), 1003, 'the clock was set back');
    seconds = 2000;
    change('10.0.0.4');
    assert.equal(serial(zone), 2000);
    assert.equal(serial('other'), 1000, 'other zones keep theirs');
  });

  it('continues the serial of before a restart, with wrap-around', () => {
    const start = (serial: number, now: number): unknown => {
      const [soa] = new Zones([{ apex: zone, serial }], { now: () => now * 1000 }).zones[0]?.soa().data ?? [];
      return soa?.type === 'SOA' ? soa.serial : undefined;
    };
    assert.equal(start(5000, 1000), 5001);
    assert.equal(start(5000, 6000), 6000);
    assert.equal(
      start(2 ** 32 - 1, 2 ** 31 + 7),
      0,
      'RFC 1982 §3.2: a clock more than half the range behind is not ahead',
    );
  });
});

describe('Zones after random changes', () => {
  const label = fc.constantFrom('a', 'b', 'c');
  const owner = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => [...labels, zone].join('.'));
  const set: fc.Arbitrary<SourceSet> = fc.oneof(
    fc.record({
      owner,
      type: fc.constant('A' as const),
      ttl: fc.constantFrom(5, 30),
      data: fc.uniqueArray(
        fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3').map((address) => ({ type: 'A' as const, address })),
        { selector: ({ address }) => address },
      ),
    }),
    fc.tuple(owner, owner, fc.nat({ max: 2 })).map(([name, target, rank]) => ptr(name, target, rank)),
    fc.tuple(owner, fc.constantFrom(80, 81), owner).map(([name, port, target]) => srv(name, port, target)),
  );
  const change = fc.record({
    source: fc.constantFrom('s1', 's2', 's3', 's4'),
    sets: fc.array(set, { maxLength: 6 }),
    dynamic: fc.array(owner, { maxLength: 1 }),
  });

  const picture = (zones: Zones): unknown =>
    new Map(
      [...zones.names(zone)].toSorted().map((name) => {
        const node = zones.find(name);
        const sets = [...(node?.sets.values() ?? [])].filter(({ type }) => type !== 'SOA');
        return [
          name,
          { sets: new Map(sets.map((each) => [each.type, each])), dynamic: node?.dynamic, by: node?.sources() },
        ];
      }),
    );

  it('equals zones built from the final state, and reports every changed name', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        const grown = new Zones([{ apex: zone }]);
        const last = new Map<string, (typeof changes)[number]>();
        let before = picture(grown) as Map<Name, unknown>;
        for (const each of changes) {
          const reported = new Set(grown.put(each.source, each.sets, each.dynamic));
          last.set(each.source, each);
          const after = picture(grown) as Map<Name, unknown>;
          for (const name of new Set([...before.keys(), ...after.keys()])) {
            if (reported.has(name)) continue;
            assert.deepEqual(after.get(name), before.get(name), `${name} changed and was not reported`);
          }
          before = after;
        }
        const fresh = new Zones([{ apex: zone }]);
        for (const each of [...last.values()].toReversed()) fresh.put(each.source, each.sets, each.dynamic);
        assert.deepEqual(picture(grown), picture(fresh));
      }),
    );
  });

  it('contains a name exactly if a source has records at it or below it', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        const zones = new Zones([{ apex: zone }]);
        const last = new Map<string, readonly Name[]>();
        for (const { source, sets, dynamic } of changes) {
          zones.put(source, sets, dynamic);
          last.set(source, [...sets.map((each) => each.owner), ...dynamic]);
        }
        const owners = [...last.values()].flat();
        const want = new Set([zone]);
        for (const name of owners) {
          for (let at: Name | undefined = name; at !== undefined && at !== zone; at = parentOf(at)) want.add(at);
        }
        assert.deepEqual(new Set(zones.names(zone)), want);
        assert.equal(zones.size, want.size);
        for (const source of last.keys()) zones.delete(source);
        assert.deepEqual([...zones.names(zone)], [zone]);
        assert.equal(zones.size, 1);
      }),
    );
  });
});
