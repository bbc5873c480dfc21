// One zone on one server: reads it by transfers, and changes it by updates.
import { classes, opcodes, rcodes, types } from '../../../dnswire/codes.ts';
import type { Name } from '../../../dnswire/data.ts';
import type { TsigKey } from '../../../dnswire/tsig.ts';
import { maxTsigBytes } from '../../../dnswire/tsig.ts';
import { encodeUpdate } from '../../../dnswire/update.ts';
import { maxMessageBytes, MessageWriter } from '../../../dnswire/writer.ts';
import type { NameChange } from '../../plan/changes.ts';
import type { Problem } from '../batches.ts';
import { sendBatches } from '../batches.ts';
import type { Failure, ZoneReading } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import type { Server } from './exchange.ts';
import { AnswerError } from './exchange.ts';
import type { ZoneMirror } from './mirror.ts';
import { Transfer, TransferError } from './transfer.ts';
import type { PlannedUpdate } from './updates.ts';
import { batchesOf, updateOf } from './updates.ts';

/** Messages are filled up to this size; compression makes them smaller. */
const batchBytes = 60_000;

/** A zone on a server. Calls must not overlap. */
export class ServedZone {
  readonly #zone: Name;
  readonly #server: Server;
  readonly #key: () => TsigKey | undefined;
  #mirror: ZoneMirror | undefined;

  constructor(zone: Name, server: Server, key: () => TsigKey | undefined) {
    this.#zone = zone;
    this.#server = server;
    this.#key = key;
  }

  /** What was read last. */
  take(): ZoneReading {
    if (this.#mirror === undefined) throw new Error('bug: the zone was not read');
    return { content: this.#mirror.content, changed: this.#mirror.takeChanged() };
  }

  /** Reads the zone: what has changed since the last time, or all of it. */
  async read(signal: AbortSignal): Promise<void> {
    const base = this.#mirror;
    this.#mirror = undefined;
    let transfer = await this.#transfer(base, signal);
    if (transfer.isElsewhere) transfer = await this.#transfer(undefined, signal);
    try {
      this.#mirror = await transfer.result();
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      throw new ProviderError(`DNS server ${this.#server.name}: transfer of ${this.#zone}: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** Applies changes to what was read last, in messages that are as large as possible. */
  async apply(changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]> {
    const mirror = this.#mirror;
    if (mirror === undefined) throw new Error('bug: the zone was not read');
    const updates = changes.map((change) => updateOf(change, mirror));
    return sendBatches(batchesOf(updates, batchBytes), (batch) => this.#send(batch, signal));
  }

  async #send(batch: readonly PlannedUpdate[], signal: AbortSignal): Promise<Problem | undefined> {
    const update = {
      zone: this.#zone,
      prerequisites: batch.flatMap(({ prerequisites }) => prerequisites),
      steps: batch.flatMap(({ steps }) => steps),
    };
    const key = this.#key();
    const limit = maxMessageBytes - (key === undefined ? 0 : maxTsigBytes(key));
    const message = encodeUpdate(update, { id: 0, limit });
    if (message === undefined)
      return { state: 'rejected', message: `the records need more than a DNS message of ${maxMessageBytes} bytes` };
    try {
      await this.#server.exchange(
        (id) => withId(message, id),
        () => true,
        signal,
      );
      return undefined;
    } catch (error) {
      if (!(error instanceof AnswerError) || error.isAboutKey || zoneErrors.has(error.rcode)) throw error;
      return { state: staleCodes.has(error.rcode) ? 'stale' : 'rejected', message: error.message };
    }
  }

  async #transfer(base: ZoneMirror | undefined, signal: AbortSignal): Promise<Transfer> {
    const transfer = new Transfer(base);
    try {
      await this.#server.exchange(
        (id) => transferQuery(this.#zone, id, base),
        ({ answers }) => {
          transfer.add(answers);
          return transfer.isComplete || transfer.isElsewhere;
        },
        signal,
      );
    } catch (error) {
      if (error instanceof TransferError)
        throw new ProviderError(`DNS server ${this.#server.name}: transfer of ${this.#zone}: ${error.message}`, {
          cause: error,
        });
      throw error;
    }
    return transfer;
  }
}

/** Prerequisites that do not hold. */
const staleCodes: ReadonlySet<number> = new Set([rcodes.NXDOMAIN, rcodes.YXDOMAIN, rcodes.YXRRSET, rcodes.NXRRSET]);
/** Errors that concern the zone and not a record. */
const zoneErrors: ReadonlySet<number> = new Set([rcodes.NOTAUTH, rcodes.NOTIMP]);

function withId(message: Uint8Array, id: number): Uint8Array {
  message[0] = id >> 8;
  message[1] = id & 0xff;
  return message;
}

/** A request for the changes since the known serial, or for the whole zone. */
function transferQuery(zone: Name, id: number, base: ZoneMirror | undefined): Uint8Array {
  const writer = new MessageWriter();
  const type = base === undefined ? types.AXFR : types.IXFR;
  const counts = { questions: 1, answers: 0, authorities: base === undefined ? 0 : 1, additionals: 0 };
  writer.header({ id, flags: opcodes.QUERY << 11, ...counts });
  writer.question({ name: zone, type, class: classes.IN });
  if (base !== undefined) writer.rawRecord(base.soa);
  return writer.bytes();
}
