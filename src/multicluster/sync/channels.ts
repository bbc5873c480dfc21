import type { Logger } from 'pino';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import { keysIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import type { BrakeOptions } from './brake.ts';
import { Channel } from './channel.ts';
import type { Reconciler } from './reconciler.ts';
import type { Seats } from './seats.ts';
import type { Services } from './services.ts';
import { Turns } from './turns.ts';

export interface ChannelsOptions {
  readonly services: Services;
  readonly seats: Seats;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  readonly log: Logger;
  readonly windowMs: number;
  readonly brake: BrakeOptions;
}

/** The ways into all members while a controller leads, and who has to look at a service. Without any nothing is done. */
export class Channels {
  readonly #options: ChannelsOptions;
  /** Member → the way into it. */
  readonly #channels = new Map<string, Channel>();
  /** One for all: there is one event loop. */
  readonly #turns = new Turns();

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  all(): readonly Channel[] {
    return [...this.#channels.values()];
  }

  open(member: Member, signal: AbortSignal): void {
    const { reconciler, clock, log, windowMs, brake } = this.#options;
    const channel = new Channel(
      {
        member,
        clock,
        log,
        windowMs,
        brake,
        work: async (own, key, term) => {
          await this.#turns.take();
          return reconciler.run(own, key, term);
        },
        onFailure: (own, key, failure) => reconciler.failed(key, own.member.id, failure),
      },
      signal,
    );
    this.#channels.set(member.id, channel);
  }

  /** Nothing new goes to a member; the result is its channel, where something may be under way. */
  drop(id: string): Channel | undefined {
    const channel = this.#channels.get(id);
    this.#channels.delete(id);
    return channel;
  }

  /** Nothing new goes anywhere; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    const channels = this.all();
    this.#channels.clear();
    await Promise.all(channels.map((channel) => channel.stop()));
  }

  /** A change is on its way from a source. */
  push(key: Key): void {
    for (const channel of this.#concerned(key)) channel.push(key);
  }

  /** Services need a look wherever they are. */
  touch(keys: Iterable<Key>): void {
    for (const key of keys) for (const channel of this.#concerned(key)) channel.touch(key);
  }

  /** A service needs a look in some members. */
  touchIn(ids: readonly string[], key: Key): void {
    for (const id of ids) this.#channels.get(id)?.touch(key);
  }

  /** All services of a namespace need a look in one member. */
  touchNamespace(id: string, name: string): void {
    const channel = this.#channels.get(id);
    if (channel === undefined) return;
    for (const key of this.#options.services.known()) if (key.startsWith(`${name}/`)) channel.touch(key);
  }

  /** Everything in one member needs a look. */
  touchAllIn(member: Member): void {
    const channel = this.#channels.get(member.id);
    if (channel === undefined) return;
    for (const key of keysIn(member)) channel.touch(key);
    // Most services concern the member or do not: only the one that forgets asks what concerns nobody.
    const forgets = member === this.#able();
    for (const key of this.#options.services.known()) {
      if (member.concerns(key) || (forgets && this.#concerned(key).includes(channel))) channel.touch(key);
    }
  }

  /** Who has to look at a service; where it concerns no member any more, one that forgets it. */
  #concerned(key: Key): readonly Channel[] {
    const channels = this.all();
    const concerned = channels.filter(({ member }) => member.concerns(key));
    if (concerned.length > 0) return concerned;
    const able = this.#able();
    return channels.filter(({ member }) => member === able);
  }

  /** Who forgets what concerns nobody. */
  #able(): Member | undefined {
    return this.#options.seats.taking().find(({ isReady }) => isReady);
  }
}
