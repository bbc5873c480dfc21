// Datagrams: one socket for each virtual address and port, one for each flow to a target.
import type { RemoteInfo, Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';

import { canonicalAddress } from '../../api/addresses.ts';
import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Target } from '../routes/route.ts';
import { targetKey } from '../routes/route.ts';
import type { DoorPlace, OpenDoor } from './engine.ts';
import type { UserspaceLimits } from './options.ts';
import { isOutOfDescriptors } from './problem.ts';
import type { Call, SwitchboardChange } from './switchboard.ts';
import { Switchboard } from './switchboard.ts';

/** A client's socket at a door, and the target its datagrams go to. */
interface Flow {
  readonly name: string;
  readonly key: string;
  readonly target: Target;
  readonly call: Call;
  readonly socket: Socket;
  /** What came before the socket was connected; undefined: it is. */
  waiting: Buffer[] | undefined;
  usedMs: number;
}

export interface UdpOptions {
  readonly limits: Pick<UserspaceLimits, 'udpFlows' | 'udpIdleMs' | 'pins'>;
  readonly random?: () => number;
  readonly now?: () => number;
  /** When the last pause of this process ended, on the same clock. */
  readonly resumedAt?: () => number;
  /** There is no descriptor for another flow. Told once a minute at most, however many there are. */
  readonly onExhausted?: () => void;
}

/** What may wait to be sent by one socket; datagrams beyond are lost, as in any full queue of a network. */
const mostQueuedBytes = 1 << 20;
/** Datagrams that may wait for a socket to be connected, which takes a turn of the event loop. */
const mostWaiting = 16;
const tellEveryMs = 60_000;

/** All flows of datagrams. */
export class UdpRelays implements AsyncDisposable {
  readonly #limits: UdpOptions['limits'];
  readonly #now: () => number;
  readonly #resumedAt: () => number;
  readonly #onExhausted: () => void;
  readonly #switchboard: Switchboard;
  readonly #doors = new Set<Socket>();
  /** Door and client → flow, the one idle longest first. */
  readonly #flows = new Map<string, Flow>();
  /** Door → how many flows it has. */
  readonly #perDoor = new Map<string, number>();
  readonly #sweeper: NodeJS.Timeout;
  #toldMs = -Infinity;
  /** Datagrams that were thrown away: refused, or too many at once. */
  lost = 0;
  /** Datagrams that were thrown away since there was no descriptor for their flow. */
  limited = 0;
  datagrams = 0;

  constructor(options: UdpOptions) {
    const { limits, random = Math.random, now = () => performance.now(), onExhausted = () => {} } = options;
    this.#resumedAt = options.resumedAt ?? (() => systemClock.resumedAt());
    this.#limits = limits;
    this.#now = now;
    this.#onExhausted = onExhausted;
    this.#switchboard = new Switchboard({ random, now, mostPins: limits.pins, mostAttempts: 4 });
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(50, Math.min(1000, limits.udpIdleMs / 4)));
    this.#sweeper.unref();
  }

  get flows(): number {
    return this.#flows.size;
  }

  /** New flows go by it; those to targets that serve no more are cut, so that their next datagram goes elsewhere. */
  change(change: SwitchboardChange): void {
    this.#switchboard.change(change);
    for (const flow of this.#flows.values()) {
      if (this.#switchboard.route(flow.key)?.serving?.has(targetKey(flow.target)) !== true) this.#cut(flow);
    }
  }

  async open({ key, address, port }: Pick<DoorPlace, 'key' | 'address' | 'port'>): Promise<OpenDoor> {
    const door = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4', ipv6Only: address.includes(':') });
    door.on('message', (message, from) => this.#receive(door, key, message, from));
    await new Promise<void>((resolve, reject) => {
      door.once('error', reject);
      door.bind({ address, port, exclusive: true }, () => {
        door.off('error', reject);
        door.on('error', () => this.lost++);
        resolve();
      });
    }).catch((error: unknown) => {
      door.close();
      throw error;
    });
    this.#doors.add(door);
    return { close: () => this.#closeDoor(door, key) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    for (const flow of this.#flows.values()) this.#cut(flow);
    await Promise.all(Array.from(this.#doors, (door) => closed(door)));
    this.#doors.clear();
  }

  async #closeDoor(door: Socket, key: string): Promise<void> {
    this.#doors.delete(door);
    for (const flow of this.#flows.values()) if (flow.key === key) this.#cut(flow);
    await closed(door);
  }

  #receive(door: Socket, key: string, message: Buffer, from: RemoteInfo): void {
    this.datagrams++;
    const name = `${key} ${from.address} ${from.port}`;
    const flow = this.#flows.get(name) ?? this.#begin(door, { name, key, from });
    if (flow === undefined || flow.socket.getSendQueueSize() > mostQueuedBytes) {
      this.lost++;
      return;
    }
    this.#use(flow);
    if (flow.waiting === undefined) this.#send(flow, message);
    else if (flow.waiting.length < mostWaiting) flow.waiting.push(message);
    else this.lost++;
  }

  #send(flow: Flow, message: Buffer): void {
    flow.socket.send(message, (error) => {
      if (error !== null) this.#failed(flow);
    });
  }

  #begin(
    door: Socket,
    { name, key, from }: { readonly name: string; readonly key: string; readonly from: RemoteInfo },
  ): Flow | undefined {
    const source = canonicalAddress(from.address) ?? '';
    const call: Call = { key, source, sourcePort: from.port, failed: new Set() };
    const connection = this.#switchboard.connect(call);
    if (connection.type !== 'forward') return undefined;
    this.#makeRoom(key);
    const { target } = connection;
    const socket = createSocket(target.address.includes(':') ? 'udp6' : 'udp4');
    const flow: Flow = { name, key, target, call, socket, waiting: [], usedMs: this.#now() };
    socket.on('error', (error) => (isOutOfDescriptors(error) ? this.#exhausted(flow) : this.#failed(flow)));
    // Connected, it hears nobody else, and hears that nobody listens at the target. Where there is no way to the target, that
    // is an error of the socket; `connect` would tell a callback of it, as if it had connected.
    socket.once('connect', () => {
      const { waiting = [] } = flow;
      flow.waiting = undefined;
      if (this.#flows.get(name) === flow) for (const message of waiting) this.#send(flow, message);
    });
    socket.connect(target.port, target.address);
    socket.on('message', (message) => {
      if (!this.#doors.has(door) || door.getSendQueueSize() > mostQueuedBytes) {
        this.lost++;
        return;
      }
      this.#use(flow);
      door.send(message, from.port, from.address, (error) => {
        if (error !== null) this.lost++;
      });
    });
    this.#flows.set(name, flow);
    this.#perDoor.set(key, (this.#perDoor.get(key) ?? 0) + 1);
    return flow;
  }

  /** Cuts the flow idle longest when there are too many; a door that has half of them gives up one of its own. */
  #makeRoom(key: string): void {
    const { udpFlows } = this.#limits;
    if (this.#flows.size < udpFlows) return;
    const isGreedy = (this.#perDoor.get(key) ?? 0) >= udpFlows / 2;
    for (const flow of this.#flows.values()) if (!isGreedy || flow.key === key) return this.#cut(flow);
  }

  #use(flow: Flow): void {
    flow.usedMs = this.#now();
    this.#flows.delete(flow.name);
    this.#flows.set(flow.name, flow);
  }

  #failed(flow: Flow): void {
    if (this.#flows.get(flow.name) !== flow) return;
    this.#switchboard.failed(flow.call, flow.target);
    this.#cut(flow);
  }

  /** Nobody's fault but ours: the target is not blamed, and the next datagram of the client tries again. */
  #exhausted(flow: Flow): void {
    this.limited += flow.waiting?.length ?? 0;
    flow.waiting = undefined;
    this.#cut(flow);
    if (this.#now() - this.#toldMs < tellEveryMs) return;
    this.#toldMs = this.#now();
    this.#onExhausted();
  }

  #cut(flow: Flow): void {
    if (this.#flows.get(flow.name) !== flow) return;
    this.lost += flow.waiting?.length ?? 0;
    this.#flows.delete(flow.name);
    const left = (this.#perDoor.get(flow.key) ?? 1) - 1;
    if (left === 0) this.#perDoor.delete(flow.key);
    else this.#perDoor.set(flow.key, left);
    flow.socket.close();
  }

  #sweep(): void {
    const oldest = this.#now() - this.#limits.udpIdleMs;
    // What clients sent while this process was paused has not been read yet.
    if (this.#resumedAt() > oldest) return;
    for (const flow of this.#flows.values()) {
      if (flow.usedMs > oldest) return;
      this.#cut(flow);
    }
  }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()));
