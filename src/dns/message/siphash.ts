// SipHash-2-4 with a 64-bit result, as DNS cookies need it (RFC 9018 §4.4). 64-bit words are pairs of 32-bit halves,
// since a BigInt would allocate at every step.

const low = 0;
const high = 1;

/** A parsed 16-byte key. */
export type SipKey = Uint32Array;

/** Parses a 16-byte key. */
export function sipKey(bytes: Uint8Array): SipKey {
  if (bytes.length !== 16) throw new RangeError(`a SipHash key has 16 bytes, not ${bytes.length}`);
  return Uint32Array.from([0, 4, 8, 12], (at) => word(bytes, at));
}

const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;

/** Little endian. */
const word = (bytes: Uint8Array, at: number): number =>
  (byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24)) >>> 0;

/** The eight bytes of the hash, in the byte order of cookies. */
export function sipHash(key: SipKey, message: Uint8Array): Uint8Array {
  const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = key;
  // The four words of the state, low half first, each the key with a part of the constant "somepseudorandomlygeneratedbytes".
  const v = Uint32Array.of(
    k0 ^ 0x70736575,
    k1 ^ 0x736f6d65,
    k2 ^ 0x6e646f6d,
    k3 ^ 0x646f7261,
    k0 ^ 0x6e657261,
    k1 ^ 0x6c796765,
    k2 ^ 0x79746573,
    k3 ^ 0x74656462,
  );
  const whole = message.length - (message.length % 8);
  for (let at = 0; at < whole; at += 8) absorb(v, word(message, at), word(message, at + 4));
  // The last word has the remaining bytes, and the length in its highest byte.
  const last = new Uint8Array(8);
  last.set(message.subarray(whole));
  last[7] = message.length & 0xff;
  absorb(v, word(last, 0), word(last, 4));
  v[4 + low] = (v[4 + low] ?? 0) ^ 0xff;
  for (let count = 0; count < 4; count++) round(v);
  const hash = new Uint8Array(8);
  const view = new DataView(hash.buffer);
  view.setUint32(0, half(v, low), true);
  view.setUint32(4, half(v, high), true);
  return hash;
}

const half = (v: Uint32Array, which: number): number =>
  (v[which] ?? 0) ^ (v[2 + which] ?? 0) ^ (v[4 + which] ?? 0) ^ (v[6 + which] ?? 0);

function absorb(v: Uint32Array, lowHalf: number, highHalf: number): void {
  v[6 + low] = (v[6 + low] ?? 0) ^ lowHalf;
  v[6 + high] = (v[6 + high] ?? 0) ^ highHalf;
  round(v);
  round(v);
  v[low] = (v[low] ?? 0) ^ lowHalf;
  v[high] = (v[high] ?? 0) ^ highHalf;
}

function round(v: Uint32Array): void {
  mix(v, 0, 2, 13);
  rotateLeft(v, 0, 32);
  mix(v, 4, 6, 16);
  mix(v, 0, 6, 21);
  mix(v, 4, 2, 17);
  rotateLeft(v, 4, 32);
}

/** Adds word `b` to word `a`, rotates `b` left, and puts their difference in `b`. */
function mix(v: Uint32Array, a: number, b: number, bits: number): void {
  const sum = (v[a + low] ?? 0) + (v[b + low] ?? 0);
  v[a + high] = (v[a + high] ?? 0) + (v[b + high] ?? 0) + (sum > 0xffff_ffff ? 1 : 0);
  v[a + low] = sum;
  rotateLeft(v, b, bits);
  v[b + low] = (v[b + low] ?? 0) ^ (v[a + low] ?? 0);
  v[b + high] = (v[b + high] ?? 0) ^ (v[a + high] ?? 0);
}

/** Rotates a word left by fewer than 32 bits, or by 32. */
function rotateLeft(v: Uint32Array, a: number, bits: number): void {
  const l = v[a + low] ?? 0;
  const h = v[a + high] ?? 0;
  v[a + low] = bits === 32 ? h : (l << bits) | (h >>> (32 - bits));
  v[a + high] = bits === 32 ? l : (h << bits) | (l >>> (32 - bits));
}
