// Notifies secondaries of changed zones (RFC 1996).
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

/** A secondary server. */
export interface Secondary {
  readonly address: string;
  readonly port: number;
}

export interface NotifierOptions {
  readonly secondaries: readonly Secondary[];
  /** Cancels messages in progress. */
  readonly signal: AbortSignal;
  /** Minimum interval between two notifications of a zone to a secondary; 1,000 by default. */
  readonly intervalMs?: number;
  /** Timeout of the first attempt; it doubles with each attempt. 2,000 by default. */
  readonly timeoutMs?: number;
  /** Number of attempts, after which the secondary relies on its refresh timer; 5 by default. */
  readonly attempts?: number;
  /** Called if a secondary acknowledged no attempt. */
  readonly onUnacknowledged?: (secondary: Secondary, apex: Name) => void;
  readonly clock?: Clock;
}

/** Sends NOTIFY for changed zones, one at a time per secondary; changes in the meantime cause one more. */
export class Notifier {
  readonly #options: NotifierOptions;
  /** Apex and secondary → whether the zone changed again since the message in progress was sent. */
  readonly #running = new Map<string, { hasChanged: boolean }>();
  readonly #all = new Set<Promise<void>>();

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** Notifies all secondaries of a change. */
  notify(zone: Pick<Zone, 'apex' | 'soa'>): void {
    for (const secondary of this.#options.secondaries) {
      const key = `${zone.apex} ${secondary.address} ${secondary.port}`;
      const running = this.#running.get(key);
      if (running === undefined) this.#start(key, zone, secondary);
      else running.hasChanged = true;
    }
  }

  /** Resolves when no message is in progress. */
  async idle(): Promise<void> {
    while (this.#all.size > 0) await Promise.all(this.#all);
  }

  #start(key: string, zone: Pick<Zone, 'apex' | 'soa'>, secondary: Secondary): void {
    const state = { hasChanged: true };
    this.#running.set(key, state);
    const done = this.#send(state, zone, secondary).finally(() => {
      this.#running.delete(key);
      this.#all.delete(done);
    });
    this.#all.add(done);
  }

  async #send(state: { hasChanged: boolean }, zone: Pick<Zone, 'apex' | 'soa'>, secondary: Secondary): Promise<void> {
    const {
      signal,
      attempts = 5,
      timeoutMs = 2000,
      intervalMs = 1000,
      onUnacknowledged,
      clock = systemClock,
    } = this.#options;
    while (state.hasChanged && !signal.aborted) {
      state.hasChanged = false;
      let isAcknowledged = false;
      for (let attempt = 0; attempt < attempts && !isAcknowledged && !signal.aborted; attempt++) {
        isAcknowledged = await exchange(zone, secondary, { timeoutMs: timeoutMs * 2 ** attempt, clock, signal });
      }
      if (!isAcknowledged && !signal.aborted) onUnacknowledged?.(secondary, zone.apex);
      if (state.hasChanged) await sleep(clock, intervalMs, signal);
    }
  }
}

/** Sends one NOTIFY; returns whether it was acknowledged in time. */
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
    const acknowledged = acknowledgement(socket, id, either);
    socket.send(notification(id, zone.apex, zone.soa()));
    return await Promise.race([acknowledged, sleep(clock, timeoutMs, either).then(() => false)]);
  } catch {
    // The port is closed, or the signal fired.
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
    // The socket is connected: the kernel drops messages of other senders.
    if (header?.id === id && isResponse(header) && opcodeOf(header) === opcodes.NOTIFY) return true;
  }
}

/** A NOTIFY message with the current SOA, which may save the secondary a query (RFC 1996 §3.7). */
function notification(id: number, apex: Name, soa: RecordSet): Uint8Array {
  const writer = new MessageWriter();
  const flags = (opcodes.NOTIFY << 11) | flagBits.AA;
  const { owner, ttl, data } = soa;
  writer.header({ id, flags, questions: 1, answers: data.length, authorities: 0, additionals: 0 });
  writer.question({ name: apex, type: types.SOA, class: classes.IN });
  for (const each of data) writer.record({ owner, ttl, data: each });
  return writer.bytes();
}
