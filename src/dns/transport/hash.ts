// HalfSipHash-1-3 (Aumasson and Bernstein): with a secret key nobody can choose names that collide.

/**
 * The hash of some bytes under a key of two words. A view, since it reads four bytes at any offset in one go, which byte by
 * byte takes three times as long.
 */
export function hashBytes(bytes: DataView, start: number, length: number, key0: number, key1: number): number {
  let v0 = key0;
  let v1 = key1;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  let at = start;
  let rounds = (length >> 2) + 4;
  const lastWord = 4;
  while (rounds > 0) {
    let word = 0;
    if (rounds > lastWord) {
      word = bytes.getInt32(at, true);
      at += 4;
    } else if (rounds === lastWord) {
      word = tail(bytes, at, start + length, length);
    } else if (rounds === lastWord - 1) {
      v2 ^= 0xff;
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
    rounds--;
  }
  return v1 ^ v3;
}

/** The last word: what is left of the bytes, and the length on top. */
function tail(bytes: DataView, at: number, end: number, length: number): number {
  let word = length << 24;
  for (let shift = 0; at < end; at++, shift += 8) word |= bytes.getUint8(at) << shift;
  return word;
}
