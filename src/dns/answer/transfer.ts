// Zone transfers, full (RFC 5936) and incremental (RFC 1995).
import type { Cidr } from '../../api/addresses.ts';
import { contains, parseAddress } from '../../api/addresses.ts';
import type { QueryClient } from '../prepared.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { Zones } from '../records/zones.ts';
import { extendedErrors, rcodes, types } from '../../dnswire/codes.ts';
import { readData } from '../../dnswire/record.ts';
import { MessageWriter } from '../../dnswire/writer.ts';
import { yieldToEventLoop } from '../../machine/timers.ts';
import type { EncodeContext } from '../message/encode.ts';
import { isEncodable, encode, replyFlags } from '../message/encode.ts';
import type { Journal } from './journal.ts';
import { serialOf } from './journal.ts';
import type { Query } from '../message/query.ts';
import type { Reply } from '../message/reply.ts';
import { emptyReply } from '../message/reply.ts';

export interface TransferOptions {
  /** Clients that may transfer; none by default. */
  readonly allow: readonly Cidr[];
  /** Left out: every transfer is a full one. */
  readonly journal?: Journal;
  /** Concurrent transfers; 4 by default. More are refused. */
  readonly maxConcurrent?: number;
}

/** Half of what TCP allows: compression pointers reach only the first 16 KiB anyway. */
const messageBytes = 32_768;

/** Answers AXFR and IXFR. */
export class Transfers {
  readonly #zones: Zones;
  readonly #options: TransferOptions;
  #running = 0;

  constructor(zones: Zones, options: TransferOptions) {
    this.#zones = zones;
    this.#options = options;
  }

  /** The messages of a transfer, or its refusal. */
  async respond(query: Query, client: QueryClient, context: EncodeContext): Promise<readonly Uint8Array[]> {
    const { name, type } = query.question;
    const refuse = (reply: Reply): readonly Uint8Array[] => [encode(query, reply, context)];
    if (!this.#isAllowed(client.address))
      return refuse(emptyReply(rcodes.REFUSED, { code: extendedErrors.PROHIBITED }));
    const zone = this.#zones.zoneOf(name);
    if (zone?.apex !== name) return refuse(emptyReply(rcodes.NOTAUTH, { code: extendedErrors.NOT_AUTHORITATIVE }));
    const soa = zone.soa();
    if (type === types.IXFR) {
      const short = this.#change(query, soa);
      // The client retries over TCP when the reply is a single SOA (RFC 1995 §2).
      if (client.protocol === 'udp' || short?.length === 1) return refuse(only(soa));
      if (short !== undefined) return await this.#messages(query, context, short);
    }
    if (client.protocol === 'udp') return refuse(emptyReply(rcodes.REFUSED, { code: extendedErrors.NOT_SUPPORTED }));
    return await this.#messages(query, context, this.#whole(name, soa));
  }

  #isAllowed(text: string): boolean {
    const address = parseAddress(text);
    return address !== undefined && this.#options.allow.some((cidr) => contains(cidr, address));
  }

  /** All current sets of a zone, unaffected by changes during the transfer. */
  #whole(apex: Name, soa: RecordSet): readonly RecordSet[] {
    const sets: RecordSet[] = [soa];
    for (const name of this.#zones.names(apex)) {
      for (const set of this.#zones.find(name)?.sets.values() ?? []) if (set.type !== 'SOA') sets.push(set);
    }
    return [...sets, soa];
  }

  /** The changes since the client's serial; the SOA alone if it is current; undefined if the journal does not reach back. */
  #change({ authority, question }: Query, soa: RecordSet): readonly RecordSet[] | undefined {
    const has = authority && readData(authority.type, authority.data);
    if (has?.type !== 'SOA') return undefined;
    // A newer serial than ours counts as current (RFC 1982).
    if (((serialOf(soa) - has.serial) | 0) <= 0) return [soa];
    const changes = this.#options.journal?.since(question.name, has.serial);
    const last = changes?.at(-1);
    if (changes === undefined || last === undefined || serialOf(last.to) !== serialOf(soa)) return undefined;
    return [soa, ...changes.flatMap(({ from, removed, to, added }) => [from, ...removed, to, ...added]), soa];
  }

  async #messages(query: Query, context: EncodeContext, sets: readonly RecordSet[]): Promise<readonly Uint8Array[]> {
    if (this.#running >= (this.#options.maxConcurrent ?? 4)) {
      const error = { code: extendedErrors.NOT_READY, text: 'too many concurrent transfers: try again later' };
      return [encode(query, emptyReply(rcodes.REFUSED, error), context)];
    }
    this.#running++;
    try {
      const messages: Uint8Array[] = [];
      for (const message of encodeMessages(query, context, sets)) {
        messages.push(message);
        // Yields to other queries between messages.
        await yieldToEventLoop();
      }
      return messages;
    } finally {
      this.#running--;
    }
  }
}

const only = (soa: RecordSet): Reply => ({ ...emptyReply(rcodes.NOERROR), authoritative: true, answers: [soa] });

/** Encodes sets into as few messages as possible; only the first has the question (RFC 5936 §2.2). */
function* encodeMessages(query: Query, context: EncodeContext, sets: readonly RecordSet[]): Iterable<Uint8Array> {
  const flags = replyFlags(query, { rcode: rcodes.NOERROR, authoritative: true }, context);
  const { id } = query.header;
  const counts = { authorities: 0, additionals: 0 };
  let questions = 1;
  let answers = 0;
  let writer = begin();
  function begin(): MessageWriter {
    const next = new MessageWriter(messageBytes);
    next.header({ id, flags, questions, answers: 0, ...counts });
    if (questions === 1) next.rawQuestion(query.question.name, query.questionBytes);
    return next;
  }
  for (const { owner, ttl, data } of sets) {
    for (const each of data) {
      if (writer.record({ owner, ttl, data: each })) {
        answers++;
        continue;
      }
      if (!isEncodable({ owner, data: each })) continue;
      writer.header({ id, flags, questions, answers, ...counts });
      yield writer.bytes();
      questions = 0;
      writer = begin();
      answers = writer.record({ owner, ttl, data: each }) ? 1 : 0;
    }
  }
  writer.header({ id, flags, questions, answers, ...counts });
  yield writer.bytes();
}
