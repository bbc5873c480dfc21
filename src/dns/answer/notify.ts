// Tells those who keep copies that a zone has changed (RFC 1996).
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { Zone } from '../records/zones.ts';
import { classes, flagBits, opcodes, types } from '../../dnswire/codes.ts';
import { isResponse, opcodeOf, readHeader } from '../../dnswire/message.ts';
import { MessageWriter } from '../../dnswire/writer.ts';

/** A server that keeps a copy. */
export interface Secondary {
  readonly address: string;
  readonly port: number;
}

export interface NotifierOptions {
  readonly secondaries: readonly Secondary[];
  /** Ends everything that is under way. */
  readonly signal: AbortSignal;
  /** How long to wait before telling a secondary of a zone again; 1,000 by default. */
  readonly intervalMs?: number;
  /** How long to wait for a first answer; it doubles with each try. 2,000 by default. */
  readonly timeoutMs?: number;
  /** After so many tries a secondary is left to its own refresh timer; 5 by default. */
  readonly tries?: number;
  /** Hears of a secondary that does not answer. */
  readonly onUnheard?: (secondary: Secondary, apex: Name) => void;
  readonly clock?: Clock;
}

/** Sends NOTIFY for zones that changed, to each secondary one at a time: what changes meanwhile is told afterwards. */
export class Notifier {
  readonly #options: NotifierOptions;
  /** Apex and secondary → whether the zone has changed again since the message under way was written. */
  readonly #running = new Map<string, { hasChanged: boolean }>();
  readonly #all = new Set<Promise<void>>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** Tells all secondaries that a zone has changed. */
  notify(zone: Pick<Zone, 'apex' | 'soa'>): void {
    for (const secondary of this.#options.secondaries) {
      const key = `${zone.apex} ${secondary.address} ${secondary.port}`;
      const running = this.#running.get(key);
      if (running === undefined) this.#start(key, zone, secondary);
      else running.hasChanged = true;
    }
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#all.size > 0) await Promise.all(this.#all);
  }

  #start(key: string, zone: Pick<Zone, 'apex' | 'soa'>, secondary: Secondary): void {
    const state = { hasChanged: true };
    this.#running.set(key, state);
    const done = this.#tell(state, zone, secondary).finally(() => {
      this.#running.delete(key);
      this.#all.delete(done);
    });
    this.#all.add(done);
  }

  async #tell(state: { hasChanged: boolean }, zone: Pick<Zone, 'apex' | 'soa'>, secondary: Secondary): Promise<void> {
    const { signal, tries = 5, timeoutMs = 2000, intervalMs = 1000, onUnheard, clock = systemClock } = this.#options;
    while (state.hasChanged && !signal.aborted) {
      state.hasChanged = false;
      let isHeard = false;
      for (let attempt = 0; attempt < tries && !isHeard && !signal.aborted; attempt++) {
        isHeard = await exchange(zone, secondary, { timeoutMs: timeoutMs * 2 ** attempt, clock, signal });
      }
      if (!isHeard && !signal.aborted) onUnheard?.(secondary, zone.apex);
      if (state.hasChanged) await sleep(clock, intervalMs, signal);
    }
  }
}

/** Sends one NOTIFY and waits for its answer; false if none came, or nothing could be sent. */
async function exchange(
  zone: Pick<Zone, 'apex' | 'soa'>,
  { address, port }: Secondary,
  { timeoutMs, clock, signal }: { readonly timeoutMs: number; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  const id = randomInt(0x1_0000);
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  try {
    socket.connect(port, address);
    await once(socket, 'connect', { signal: either });
    const heard = acknowledgement(socket, id, either);
    socket.send(notification(id, zone.apex, zone.soa()));
    return await Promise.race([heard, sleep(clock, timeoutMs, either).then(() => false)]);
  } catch {
    // Nobody listens there, or we are told to stop: either way nobody has heard.
    return false;
  } finally {
    stop.abort();
    socket.close();
  }
}

async function acknowledgement(
  socket: ReturnType<typeof createSocket>,
  id: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    // An error of the socket rejects here too.
    const [bytes] = (await once(socket, 'message', { signal })) as [Uint8Array];
    const header = readHeader(bytes);
    // The socket is connected, so that only the secondary can be the sender.
    if (header?.id === id && isResponse(header) && opcodeOf(header) === opcodes.NOTIFY) return true;
  }
}

/** A NOTIFY message with the SOA as it is now, which may spare the secondary a question (RFC 1996 §3.7). */
function notification(id: number, apex: Name, soa: RecordSet): Uint8Array {
  const writer = new MessageWriter();
  const flags = (opcodes.NOTIFY << 11) | flagBits.AA;
  const { owner, ttl, data } = soa;
  writer.header({ id, flags, questions: 1, answers: data.length, authorities: 0, additionals: 0 });
  writer.question({ name: apex, type: types.SOA, class: classes.IN });
  for (const each of data) writer.record({ owner, ttl, data: each });
  return writer.bytes();
}
