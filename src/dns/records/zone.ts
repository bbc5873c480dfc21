import type { Name, RecordSet } from '../../dnswire/data.ts';

/** How a zone is served. */
export interface ZoneOptions {
  readonly apex: Name;
  /** Seconds for which others may remember that a name does not exist; 5 by default. */
  readonly negativeTtl?: number;
  /** The server that the SOA names; `ns.dns.<apex>` by default. */
  readonly primary?: Name;
  /** Whom the SOA names; `hostmaster.<apex>` by default. */
  readonly mailbox?: Name;
  /** Names that do not exist here are asked upstream; false by default. For reverse zones that hold others' addresses. */
  readonly fallthrough?: boolean;
  /** The last serial that was told, if it is known from before a restart. */
  readonly serial?: number;
}

/** A part of the name space that this server answers for. */
export interface Zone {
  readonly apex: Name;
  readonly fallthrough: boolean;
  /** The SOA as it is now. Its serial has grown if anything in the zone has changed since it was last asked for. */
  soa(): RecordSet;
}

/** Zones are compared by their serial, so that it starts from the clock and never goes back (RFC 1982). */
export class ServedZone implements Zone {
  readonly apex: Name;
  readonly fallthrough: boolean;
  readonly #options: ZoneOptions;
  readonly #now: () => number;
  #soa: RecordSet | undefined;
  #serial: number;

  constructor(options: ZoneOptions, now: () => number) {
    this.apex = options.apex;
    this.fallthrough = options.fallthrough ?? false;
    this.#options = options;
    this.#now = now;
    const clock = secondsOf(now());
    this.#serial = options.serial === undefined ? clock : nextSerial(options.serial, clock);
  }

  /** Something in the zone changed. Changes that nobody looked between share a serial, so that it stays near the clock. */
  touch(): void {
    if (this.#soa === undefined) return;
    this.#soa = undefined;
    this.#serial = nextSerial(this.#serial, secondsOf(this.#now()));
  }

  soa(): RecordSet {
    this.#soa ??= this.#build();
    return this.#soa;
  }

  #build(): RecordSet {
    const {
      apex,
      negativeTtl = 5,
      primary = below('ns.dns', apex),
      mailbox = below('hostmaster', apex),
    } = this.#options;
    const serial = this.#serial;
    const timers = { refresh: 7200, retry: 1800, expire: 86_400, minimum: negativeTtl };
    // A negative answer is remembered for the lesser of the record's TTL and its minimum (RFC 2308 §5).
    const ttl = Math.min(negativeTtl, 300);
    return { owner: apex, type: 'SOA', ttl, data: [{ type: 'SOA', primary, mailbox, serial, ...timers }] };
  }
}

const below = (label: Name, apex: Name): Name => (apex === '' ? label : `${label}.${apex}`);

const secondsOf = (ms: number): number => Math.floor(ms / 1000) >>> 0;

/** The clock where it is ahead of the last serial, and else the number after it; both wrap around at 2³². */
function nextSerial(last: number, clock: number): number {
  const ahead = (clock - last) >>> 0;
  return ahead > 0 && ahead < 2 ** 31 ? clock : (last + 1) >>> 0;
}
