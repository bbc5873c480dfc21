// What the tests of this folder share: queries, and tables to ask them of.
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

/** An A record at the name asked for. */
export const addressRecord = (a: number, b: number, c: number, d: number): Uint8Array =>
  Uint8Array.of(0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, a, b, c, d);

/** A name with so many addresses: 10.0.0.1 and on. */
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

/** A name that exists and has nothing. */
export const empty = (name: string, slowPath?: PreparedName['slowPath']): PreparedName => ({
  name,
  zone: apex,
  answers: [],
  ...(slowPath === undefined ? {} : { slowPath }),
});

/** A table with web (one address), many (100), an alias to ask for, and Pods made on demand. */
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

/** A query as bytes; ANY and other types by number are for dns-packet's list of names. */
export function query(name: string, type: string = 'A', extra: Partial<Packet> = {}): Buffer {
  // A cast: the types of dns-packet list fewer types than it can write.
  const question = { name, type } as NonNullable<Packet['questions']>[number];
  const flags = packet.RECURSION_DESIRED;
  const bytes = packet.encode({ type: 'query', id: 4711, flags, questions: [question], ...extra });
  // The encoder takes a size of 0 for none given, and writes its own.
  if (extra.additionals?.some((each) => each.type === 'OPT' && each.udpPayloadSize === 0)) {
    bytes.writeUInt16BE(0, bytes.length - 8);
  }
  return bytes;
}

/** The additional section that says how large a reply may be. */
export const edns = (udpPayloadSize: number): Partial<Packet> => ({
  // A cast: dns-packet fills in what is left out.
  additionals: [{ type: 'OPT', name: '.', udpPayloadSize, flags: 0, options: [] } as never],
});

export const decode = (bytes: Uint8Array): DecodedPacket => packet.decode(Buffer.from(bytes));
