// Sample data of the tests: queries and tables.
import type { DecodedPacket, Packet } from 'dns-packet';
import packet from 'dns-packet';

import type { PreparedName, PreparedZone } from '../../prepared.ts';
import { AnswerTable } from '../table.ts';

export const apex = 'cluster.local';

/** The zone of most tests. */
export const zone = (serial: number): PreparedZone => ({
  apex,
  soaTtl: 30,
  soa: {
    type: 'SOA',
    primary: `ns.dns.${apex}`,
    mailbox: `hostmaster.${apex}`,
    serial,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: 5,
  },
});

/** An A record at the query name. */
export const addressRecord = (a: number, b: number, c: number, d: number): Uint8Array =>
  Uint8Array.of(0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, a, b, c, d);

/** A name with `count` addresses from 10.0.0.1. */
export const named = (name: string, addresses: number = 1): PreparedName => ({
  name,
  zone: apex,
  answers: [
    {
      type: 1,
      answers: Array.from({ length: addresses }, (_, index) =>
        addressRecord(10, 0, (index + 1) >> 8, (index + 1) & 0xff),
      ),
      additional: [],
    },
  ],
});

/** A name without records. */
export const empty = (name: string, slowPath?: PreparedName['slowPath']): PreparedName => ({
  name,
  zone: apex,
  answers: [],
  ...(slowPath === undefined ? {} : { slowPath }),
});

/** A table with web (one address), many (100), an alias for the slow path, and Pods built on demand. */
export function sampleTable(): AnswerTable {
  const table = new AnswerTable();
  table.putZone(zone(1));
  for (const name of [apex, `svc.${apex}`, `ns.svc.${apex}`]) table.put(empty(name));
  table.put(named(`web.ns.svc.${apex}`));
  table.put(named(`few.ns.svc.${apex}`, 5));
  table.put(named(`many.ns.svc.${apex}`, 100));
  table.put(empty(`alias.ns.svc.${apex}`, 'types'));
  table.put(empty(`ns.pod.${apex}`, 'descendants'));
  return table;
}

/** An encoded query; types that dns-packet does not list are given by number. */
export function query(name: string, type: string = 'A', extra: Partial<Packet> = {}): Buffer {
  // A cast: dns-packet encodes more types than its types list.
  const question = { name, type } as NonNullable<Packet['questions']>[number];
  const flags = packet.RECURSION_DESIRED;
  const bytes = packet.encode({ type: 'query', id: 4711, flags, questions: [question], ...extra });
  // The encoder replaces a size of 0 by its default.
  if (extra.additionals?.some((each) => each.type === 'OPT' && each.udpPayloadSize === 0)) {
    bytes.writeUInt16BE(0, bytes.length - 8);
  }
  return bytes;
}

/** An additional section with an OPT record of the given UDP size. */
export const edns = (udpPayloadSize: number): Partial<Packet> => ({
  // A cast: dns-packet fills in what is left out.
  additionals: [{ type: 'OPT', name: '.', udpPayloadSize, flags: 0, options: [] } as never],
});

export const decode = (bytes: Uint8Array): DecodedPacket => packet.decode(Buffer.from(bytes));
