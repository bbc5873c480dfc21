// The layout of the table in shared memory. Offsets are in units of eight bytes: 27 bits of a word address one gibibyte,
// and five bits remain for a tag.

/** Bytes of a unit; every block is aligned to it. */
export const unitBytes = 8;
/** The bits of a word with an offset in units. */
export const unitMask = 0x7ff_ffff;
/** The shift of the tag. */
export const tagShift = 27;
/** The maximum size of an arena: 27 bits of units. */
export const maxArenaBytes = 2 ** 27 * unitBytes;

/** Words (of four bytes) of the header. */
export const headerWords = {
  /** The key of the hash function. */
  seed0: 0,
  seed1: 1,
  /** Increases with every retired block; never 0. */
  epoch: 2,
  /** The largest number of labels of any name so far. */
  depth: 3,
} as const;

/** A reader's word has the epoch in which it began to read; 0: idle. Each is in a cache line of its own. */
export const readerWord = 16;
export const readerStride = 16;
export const maxReaders = 64;

/** A bucket's word has the offset of its slots and the logarithm of their number. Buckets grow independently. */
export const bucketWord: number = readerWord + maxReaders * readerStride;
export const bucketBits = 10;
export const buckets: number = 2 ** bucketBits;

/** A zone's word has the offset of its block; 0: no such zone. */
export const zoneWord: number = bucketWord + buckets;
export const maxZones = 4096;

/** The offset of the first block. */
export const arenaStart: number = (zoneWord + maxZones) * 4;

/** A slot whose name was deleted. The offset is inside the header, so it is no block's. */
export const tombstone = 1;

/*
 * A name's block:    word 0 hash · word 1 name length, flags << 8, zone << 16 · word 2 answers, units << 8 · name
 * then each answer, two-byte aligned: type, records, additional records, bytes of records, bytes of additional records (16
 * bits each); the end offset of each record and each additional record; the records.
 */
export const nameBytes = 12;
export const slowTypesFlag = 1;
export const slowDescendantsFlag = 2;
/** 16-bit numbers before the end offsets of an answer. */
export const answerHalves = 5;
/** Instead of a number of records: the answer is too large for the table and needs the slow path. */
export const tooLarge = 0xffff;

/*
 * A zone's block:    word 0 serial · word 1 apex length, primary << 8, mailbox << 16, flags << 24 · word 2 units,
 * then ttl (4), the four numbers after the serial (16), primary, mailbox.
 */
export const zoneFixedBytes = 12;
export const zoneNamesBytes = 32;
/** The name ends with the apex, which is part of every question. */
export const primaryInZoneFlag = 1;
export const mailboxInZoneFlag = 2;
