import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { optionCodes, rcodes } from '../../dnswire/codes.ts';
import { readMessage } from '../../dnswire/message.ts';
import type { Forwarder } from './forwarder.ts';
import type { Behaviour } from './testing/fake-upstream.ts';
import { answers, reply, slow } from './testing/fake-upstream.ts';
import { withForwarder, addressOf } from './testing/forwarder.ts';

suite('loops', () => {
  /** Sends queries back to the forwarder, with or without their list of hops. */
  const returnsQueries =
    (forwarder: () => Forwarder, keepsOptions: boolean): Behaviour =>
    (arrival) => {
      const message = readMessage(arrival.bytes);
      const [question] = message?.questions ?? [];
      const hops = message?.edns?.options.find(({ code }) => code === optionCodes.HOPS)?.data;
      if (question === undefined) return;
      const options = keepsOptions && hops !== undefined ? { hops } : {};
      void forwarder()
        .resolve(question, { dnssecOk: false, checkingDisabled: false, ...options })
        .then(({ rcode }) => arrival.send(reply(arrival, [], { rcode })));
    };

  for (const keepsOptions of [true, false]) {
    const how = keepsOptions ? 'by what the question carries' : 'by a probe, where the upstream drops what it carries';
    test(`answers a returning query with SERVFAIL at once, ${how}, and still answers others`, async () => {
      let forwarder: Forwarder | undefined;
      const looping = returnsQueries(() => forwarder ?? assert.fail('not yet'), keepsOptions);
      await withForwarder([looping], {}, async (given) => {
        forwarder = given.forwarder;
        // The clock does not advance to the deadline.
        const answer = await given.resolve('www.example.org');
        assert.equal(answer.rcode, rcodes.SERVFAIL);
        assert.ok(forwarder.counters.loops >= 1);
        const server = given.servers[0];
        if (server !== undefined) server.behaviour = answers('192.0.2.1');
        await given.clock.advance(61_000);
        assert.equal(
          addressOf(await given.resolve('other.example.org')),
          '192.0.2.1',
          'an upstream whose loop was removed is used again',
        );
      });
    });
  }

  test('uses another upstream instead of one with a loop', async () => {
    let forwarder: Forwarder | undefined;
    const looping = returnsQueries(() => forwarder ?? assert.fail('not yet'), false);
    await withForwarder([looping, slow(20, answers('192.0.2.1'))], {}, async (given) => {
      forwarder = given.forwarder;
      for (let each = 0; each < 10; each++)
        assert.equal(addressOf(await given.resolve(`n${each}.example.org`)), '192.0.2.1');
    });
  });
});
