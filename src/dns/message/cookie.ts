// DNS cookies (RFC 7873) in the interoperable format (RFC 9018): replicas with the same secret accept each other's.
import { timingSafeEqual } from 'node:crypto';
import { clientAddressBytes } from '../../dnswire/address.ts';
import { concat, readUint32 } from '../../dnswire/record.ts';
import type { SipKey } from './siphash.ts';
import { sipHash, sipKey } from './siphash.ts';

export interface CookieOptions {
  /** 16 bytes each. The first creates cookies; those of the others are still accepted. */
  readonly secrets: readonly Uint8Array[];
}

/** The result of checking a cookie. */
export interface CookieVerdict {
  /** The option of the reply. */
  readonly option: Uint8Array;
  /** The client proved that it receives messages at its address. */
  readonly isGood: boolean;
}

const clientBytes = 8;
const serverBytes = 16;
const maxAgeSeconds = 3600;
const renewAfterSeconds = 1800;
const maxSkewSeconds = 300;

/** Creates and checks the cookies of a server. */
export class Cookies {
  readonly #keys: readonly SipKey[];

  constructor({ secrets }: CookieOptions) {
    if (secrets.length === 0)
      throw new RangeError('cookies need a secret: pass 16 random bytes, the same to every replica');
    this.#keys = secrets.map(sipKey);
  }

  /** Checks the option of a query; undefined if its length is invalid (RFC 7873 §5.2.2). */
  check(option: Uint8Array, address: string, nowSeconds: number): CookieVerdict | undefined {
    const { length } = option;
    if (length !== clientBytes && (length < clientBytes + 8 || length > clientBytes + 32)) return undefined;
    const client = option.subarray(0, clientBytes);
    const from = clientAddressBytes(address);
    const server = option.subarray(clientBytes);
    const isGood = this.#isGood(client, server, from, nowSeconds);
    // A recent cookie is returned unchanged, so that a client's cookie changes twice an hour and not with every reply.
    const isRecent = isGood && ageOf(server, nowSeconds) <= renewAfterSeconds && this.#isCurrent(client, server, from);
    return { option: isRecent ? option.slice() : concat([client, this.#create(client, from, nowSeconds)]), isGood };
  }

  #create(client: Uint8Array, from: Uint8Array, nowSeconds: number): Uint8Array {
    const fields = new Uint8Array(8);
    fields[0] = 1;
    new DataView(fields.buffer).setUint32(4, nowSeconds);
    return concat([fields, hashOf(this.#keys[0], client, fields, from)]);
  }

  #isGood(client: Uint8Array, server: Uint8Array, from: Uint8Array, nowSeconds: number): boolean {
    if (server.length !== serverBytes || server[0] !== 1) return false;
    const age = ageOf(server, nowSeconds);
    if (age > maxAgeSeconds || age < -maxSkewSeconds) return false;
    return this.#keys.some((key) => matches(key, client, server, from));
  }

  #isCurrent(client: Uint8Array, server: Uint8Array, from: Uint8Array): boolean {
    const isPlain = server[1] === 0 && server[2] === 0 && server[3] === 0;
    return isPlain && matches(this.#keys[0], client, server, from);
  }
}

/** The age of a cookie in seconds; its timestamp wraps around (RFC 1982). */
const ageOf = (server: Uint8Array, nowSeconds: number): number => (nowSeconds - readUint32(server, 4)) | 0;

/** The hash covers the reserved bytes as received. */
const matches = (key: SipKey | undefined, client: Uint8Array, server: Uint8Array, from: Uint8Array): boolean =>
  timingSafeEqual(hashOf(key, client, server.subarray(0, 8), from), server.subarray(8));

function hashOf(key: SipKey | undefined, client: Uint8Array, fields: Uint8Array, from: Uint8Array): Uint8Array {
  if (key === undefined) throw new Error('bug: cookies without a key');
  return sipHash(key, concat([client, fields, from]));
}
