import type { Name, RecordSet } from '../../dnswire/data.ts';

/** Options of a zone. */
export interface ZoneOptions {
  readonly apex: Name;
  /** TTL of negative answers in seconds; 5 by default. */
  readonly negativeTtl?: number;
  /** The primary server in the SOA; `ns.dns.<apex>` by default. */
  readonly primary?: Name;
  /** The mailbox in the SOA; `hostmaster.<apex>` by default. */
  readonly mailbox?: Name;
  /** Forwards names that do not exist; false by default. For reverse zones that include foreign addresses. */
  readonly fallthrough?: boolean;
  /** The last published serial, if known from before a restart. */
  readonly serial?: number;
}

/** A zone that this server is authoritative for. */
export interface Zone {
  readonly apex: Name;
  readonly fallthrough: boolean;
  /** The current SOA. Its serial is higher than at the last call if anything in the zone changed since. */
  soa(): RecordSet;
}

/** Secondaries compare serials, so the serial starts from the clock and never decreases (RFC 1982). */
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

  /** Something in the zone changed. Changes between two reads of the SOA share a serial, which keeps it near the clock. */
  markChanged(): void {
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
    // The TTL of a negative answer is the lower of the record's TTL and its minimum (RFC 2308 §5).
    const ttl = Math.min(negativeTtl, 300);
    return { owner: apex, type: 'SOA', ttl, data: [{ type: 'SOA', primary, mailbox, serial, ...timers }] };
  }
}

const below = (label: Name, apex: Name): Name => (apex === '' ? label : `${label}.${apex}`);

const secondsOf = (ms: number): number => Math.floor(ms / 1000) >>> 0;

/** The clock if it is ahead of the last serial, otherwise the next number; both wrap around at 2³². */
function nextSerial(last: number, clock: number): number {
  const ahead = (clock - last) >>> 0;
  return ahead > 0 && ahead < 2 ** 31 ? clock : (last + 1) >>> 0;
}
