// Nearly valid messages from a seed, so that a failure can be reproduced.
import { encode } from 'dns-packet';
import type { Packet } from 'dns-packet';

/** Pseudo-random numbers from a seed (xorshift32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  /** An integer from 0 up to, but not including, `end`. */
  below(end: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) % end;
  }

  of<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('bug: nothing to choose from');
    return choice;
  }
}

const svc = 'svc.cluster.local';
const names = [
  `web.shop.${svc}`,
  `_kerberos._tcp.idm.shop.${svc}`,
  `db.shop.${svc}`,
  `inside.shop.${svc}`,
  `ping.shop.${svc}`,
  `nobody.shop.${svc}`,
  'cart.shop.svc.clusterset.local',
  '1.1.96.10.in-addr.arpa',
  'cluster.local',
  'www.example.org',
  `${'a.'.repeat(100)}${svc}`,
];
const types = ['A', 'AAAA', 'SRV', 'PTR', 'CNAME', 'TXT', 'SOA', 'NS', 'ANY', 'HTTPS', 'AXFR', 'IXFR', 'OPT'] as const;

const opt = (udpPayloadSize: number, options: object[] = []): object => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  options,
});

function seedsOf(name: string, type: (typeof types)[number]): readonly Packet[] {
  // The types of the library lack some query types.
  const questions = [{ name, type }] as unknown as NonNullable<Packet['questions']>;
  const additional = (...records: object[]): Packet['additionals'] => records as unknown as Packet['additionals'];
  return [
    { type: 'query', flags: 0x100, questions },
    { type: 'query', flags: 0x100, questions, additionals: additional(opt(1232)) },
    {
      type: 'query',
      flags: 0x110,
      questions,
      additionals: additional(
        opt(4096, [
          { code: 10, data: Buffer.alloc(8, 7) },
          { code: 3, data: Buffer.alloc(0) },
        ]),
      ),
    },
    { type: 'query', flags: 0x2000, questions }, // NOTIFY
    { type: 'query', flags: 0x2800, questions }, // UPDATE
  ];
}

const seeds: readonly Buffer[] = names.flatMap((name) =>
  types.flatMap((type) => seedsOf(name, type).map((packet) => Buffer.from(encode(packet)))),
);

/** Bytes with a meaning in a message: pointers, the longest label, ends of ranges. */
const tellingBytes = [0, 1, 0x0c, 0x29, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff];

/** A message with some bytes changed; sometimes none. */
export function mutated(chance: Chance): Buffer {
  let message: Buffer = Buffer.from(chance.of(seeds));
  for (let changes = chance.below(6); changes > 0; changes--) message = change(message, chance);
  return message;
}

function change(message: Buffer, chance: Chance): Buffer {
  const at = chance.below(Math.max(message.length, 1));
  switch (chance.below(8)) {
    case 0:
      message[at] = (message[at] ?? 0) ^ (1 << chance.below(8));
      return message;
    case 1:
      message[at] = chance.below(256);
      return message;
    case 2:
      message[at] = chance.of(tellingBytes);
      return message;
    case 3: // a counter of the header
      if (message.length > 11) message[5 + 2 * chance.below(4)] = chance.of([0, 1, 2, 3, 255]);
      return message;
    case 4:
      return message.subarray(0, at);
    case 5: // repeat a part
      return Buffer.concat([message, message.subarray(at)]).subarray(0, 1400);
    case 6: // the end of another message
      return Buffer.concat([message.subarray(0, at), chance.of(seeds).subarray(chance.below(40))]).subarray(0, 1400);
    default: // a pointer to a random offset
      if (at + 1 < message.length) message.writeUInt16BE(0xc000 | chance.below(0x100), at);
      return message;
  }
}
