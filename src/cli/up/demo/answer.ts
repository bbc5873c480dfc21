// The DNS server of a demo Pod: whatever is asked, it says who it is.
import { flagBits, types } from '../../../dnswire/codes.ts';
import { isResponse, readHeader, readQuestion } from '../../../dnswire/message.ts';
import { MessageWriter } from '../../../dnswire/writer.ts';

/** Answers a question with a text, if it is for one; undefined: those bytes are no question. */
export function answer(query: Uint8Array, text: string): Uint8Array | undefined {
  const header = readHeader(query);
  const asked = readQuestion(query);
  if (header === undefined || isResponse(header) || asked === undefined) return undefined;
  const { question } = asked;
  const isText = question.type === types.TXT;
  const flags = flagBits.QR | flagBits.AA | (header.flags & flagBits.RD);
  const writer = new MessageWriter();
  writer.header({ id: header.id, flags, questions: 1, answers: isText ? 1 : 0, authorities: 0, additionals: 0 });
  writer.question(question);
  if (isText) writer.record({ owner: question.name, ttl: 0, data: { type: 'TXT', text: [text] } });
  return writer.bytes();
}

/** The same over TCP, where a message comes after its length; undefined: it is not complete yet. */
export function answerStream(received: Buffer, text: string): Uint8Array | undefined {
  const end = received.length < 2 ? Infinity : 2 + received.readUInt16BE();
  const said = received.length < end ? undefined : answer(received.subarray(2, end), text);
  return said && Buffer.concat([Uint8Array.of(said.length >> 8, said.length & 0xff), said]);
}
