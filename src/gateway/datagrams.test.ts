import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DatagramReader, frameOf } from './datagrams.ts';

test('datagrams are the same after the stream, wherever it is split', () => {
  const sent = ['', 'a', 'b'.repeat(300), 'c'.repeat(65_535), 'd'].map((text) => Buffer.from(text));
  const stream = Buffer.concat(sent.map(frameOf));
  for (const size of [1, 2, 3, 1000, stream.length]) {
    const reader = new DatagramReader();
    const received: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size) received.push(...reader.read(stream.subarray(at, at + size)));
    assert.deepEqual(
      received.map((each) => each.toString()),
      sent.map((each) => each.toString()),
      `in pieces of ${size}`,
    );
  }
});
