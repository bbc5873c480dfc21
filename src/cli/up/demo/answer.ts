// The DNS server of a demo Pod: answers every TXT query with the name of the Pod.
import { flagBits, types } from '../../../dnswire/codes.ts';
import { isResponse, readHeader, readQuestion } from '../../../dnswire/message.ts';
import { MessageWriter } from '../../../dnswire/writer.ts';

/** Answers a query: with a TXT record for type TXT, with no records for others. undefined: not a query. */
export function answer(query: Uint8Array, text: string): Uint8Array | undefined {
  const header = readHeader(query);
  const parsed = readQuestion(query);
  if (header === undefined || isResponse(header) || parsed === undefined) return undefined;
  const { question } = parsed;
  const isText = question.type === types.TXT;
  const flags = flagBits.QR | flagBits.AA | (header.flags & flagBits.RD);
  const writer = new MessageWriter();
  writer.header({ id: header.id, flags, questions: 1, answers: isText ? 1 : 0, authorities: 0, additionals: 0 });
  writer.question(question);
  if (isText) writer.record({ owner: question.name, ttl: 0, data: { type: 'TXT', text: [text] } });
  return writer.bytes();
}

/** Answers a query over TCP, which has its length in front; undefined: it is incomplete. */
export function answerStream(received: Buffer, text: string): Uint8Array | undefined {
  const end = received.length < 2 ? Infinity : 2 + received.readUInt16BE();
  const reply = received.length < end ? undefined : answer(received.subarray(2, end), text);
  return reply && Buffer.concat([Uint8Array.of(reply.length >> 8, reply.length & 0xff), reply]);
}
