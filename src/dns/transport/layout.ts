// Where things are in the memory that the table's writer and its readers share. Offsets are counted in units of eight
// bytes, so that 27 bits of a word reach one gibibyte and five bits are left to say something else.

/** Bytes of a unit; everything in the arena begins at a multiple of it. */
export const unitBytes = 8;
/** The bits of a word that hold an offset in units. */
export const unitMask = 0x7ff_ffff;
/** How far the five other bits are shifted. */
export const tagShift = 27;
/** No arena can be larger: 27 bits of units. */
export const maxArenaBytes = 2 ** 27 * unitBytes;

/** Words (of four bytes) of the header. */
export const headerWords = {
  /** The key of the hash. */
  seed0: 0,
  seed1: 1,
  /** Grows with everything that is taken out of the table; never 0. */
  epoch: 2,
  /** How many labels the deepest name ever had. */
  depth: 3,
} as const;

/** A reader's word says in which epoch it began to read; 0: it reads nothing now. A cache line each. */
export const readerWord = 16;
export const readerStride = 16;
export const maxReaders = 64;

/** Buckets: a bucket's word is its slots' offset and the logarithm of their number. Each grows alone. */
export const bucketWord: number = readerWord + maxReaders * readerStride;
export const bucketBits = 10;
export const buckets: number = 2 ** bucketBits;

/** Zones: a zone's word is its block's offset; 0: not served from here. */
export const zoneWord: number = bucketWord + buckets;
export const maxZones = 4096;

/** Where the first block may be. */
export const arenaStart: number = (zoneWord + maxZones) * 4;

/** A slot whose name was deleted. The unit is inside the header, so no block has it. */
export const tombstone = 1;

/*
 * A name's block:    word 0 hash · word 1 name length, flags << 8, zone << 16 · word 2 answers, units << 8 · name
 * then, even-aligned, an answer each: 16-bit type, records, additional records, their bytes, additional bytes; where
 * each record ends, where each additional one ends; then the records.
 */
export const nameBytes = 12;
export const slowTypesFlag = 1;
export const slowDescendantsFlag = 2;
/** 16-bit numbers before the ends of an answer. */
export const answerHalves = 5;
/** In place of a number of records: too large to be held here, ask. */
export const tooLarge = 0xffff;

/*
 * A zone's block:    word 0 serial · word 1 apex length, primary << 8, mailbox << 16, flags << 24 · word 2 units,
 * then ttl (4), the four numbers after the serial (16), primary, mailbox.
 */
export const zoneFixedBytes = 12;
export const zoneNamesBytes = 32;
/** The name goes on with the apex, which is in every question. */
export const primaryInZoneFlag = 1;
export const mailboxInZoneFlag = 2;
