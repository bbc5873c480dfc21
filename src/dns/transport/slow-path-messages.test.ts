import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { concat } from '../../dnswire/record.ts';
import { clientAddressBytes } from '../../dnswire/address.ts';
import { packQuery, packReply, unpackQueries, unpackReplies } from './slow-path-messages.ts';

const bytes = fc.uint8Array({ maxLength: 300 });

test('queries and replies survive a round trip', () => {
  const query = fc.record({
    token: fc.nat(0xffff_ffff),
    protocol: fc.constantFrom('udp' as const, 'tcp' as const),
    address: fc.ipV4().map((text) => ({ text, bytes: clientAddressBytes(text) })),
    port: fc.nat(0xffff),
    query: bytes,
  });
  const reply = fc
    .tuple(fc.nat(0xffff_ffff), fc.option(bytes, { nil: undefined }), fc.boolean())
    .map(([token, message, isLast]) => ({ token, message, isLast }));
  const property = fc.property(fc.array(query), fc.array(reply), (queries, replies) => {
    const packed = queries.map((each) => packQuery(each.token, { ...each, address: each.address.bytes }, each.query));
    const want = queries.map(({ token, protocol, address, port, query }) => {
      return { token, client: { address: address.text, port, protocol }, query };
    });
    assert.deepEqual([...unpackQueries(concat(packed))], want);
    assert.deepEqual([...unpackReplies(concat(replies.map(packReply)))], replies);
  });
  fc.assert(property);
});
