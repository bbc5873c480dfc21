// How prepared answers become a reply, written as plainly as can be: what workers do must be the same.
import assert from 'node:assert/strict';
import type { PreparedName, PreparedZone } from '../prepared.ts';
import { flagBits, rcodes } from '../wire/codes.ts';
import { readHeader } from '../wire/message.ts';
import { MessageWriter } from '../wire/writer.ts';
import { readQuery } from './query.ts';

/** The reply without limits; undefined: it is for the full path. `prepared` is undefined where the name has no entry. */
export function assemble(
  bytes: Uint8Array,
  prepared: PreparedName | undefined,
  zone: PreparedZone,
): Uint8Array | undefined {
  const header = readHeader(bytes) ?? assert.fail();
  const query = readQuery(bytes, header) ?? assert.fail();
  const found = prepared?.answers.find(({ type }) => type === query.question.type);
  if (prepared?.ask === 'types' && found === undefined) return undefined;
  const rcode = prepared === undefined ? rcodes.NXDOMAIN : rcodes.NOERROR;
  const writer = new MessageWriter();
  const counts = {
    questions: 1,
    answers: found?.answers.length ?? 0,
    authorities: found === undefined ? 1 : 0,
    additionals: (found?.additional.length ?? 0) + (query.edns === undefined ? 0 : 1),
  };
  const flags = flagBits.QR | flagBits.AA | (header.flags & (flagBits.RD | flagBits.CD)) | rcode;
  writer.header({ id: header.id, flags, ...counts });
  writer.rawQuestion(query.question.name, query.questionBytes);
  // Backwards: the order must not matter to the pointers.
  for (const record of found?.answers.toReversed() ?? []) writer.raw(record);
  if (found === undefined) writer.record({ owner: zone.apex, ttl: zone.soaTtl, data: zone.soa });
  for (const record of found?.additional.toReversed() ?? []) writer.raw(record);
  if (query.edns !== undefined) writer.opt({ ...query.edns, size: 1232, options: [] });
  return writer.bytes();
}
