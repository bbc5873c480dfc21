import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';

import * as dnsPacket from 'dns-packet';

import { answer, answerStream } from './answer.ts';

const ask = (type: 'TXT' | 'A'): Buffer => dnsPacket.encode({ id: 7, questions: [{ type, name: 'who.example.org' }] });

test('answers a query with a text, over both protocols', () => {
  const { id, answers } = dnsPacket.decode(Buffer.from(answer(ask('TXT'), 'it is me') ?? []));
  assert.equal(id, 7);
  assert.deepEqual(
    answers?.map((each) => (each.type === 'TXT' ? [each.data].flat().join() : '')),
    ['it is me'],
  );
  assert.deepEqual(dnsPacket.decode(Buffer.from(answer(ask('A'), 'me') ?? [])).answers, []);
  const framed = dnsPacket.streamEncode({ id: 8, questions: [{ type: 'TXT', name: 'a' }] });
  for (let end = 0; end < framed.length; end++) assert.equal(answerStream(framed.subarray(0, end), 'me'), undefined);
  assert.equal(dnsPacket.streamDecode(Buffer.from(answerStream(framed, 'me') ?? [])).id, 8);
});

test('does not answer malformed messages', () => {
  const replied = dnsPacket.encode({ type: 'response', questions: [{ type: 'TXT', name: 'a' }] });
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(11), replied]) assert.equal(answer(bytes, 'me'), undefined);
  for (let count = 0; count < 1000; count++) answer(randomBytes(count % 64), 'me');
});
