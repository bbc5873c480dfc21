import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';

import { systemClock } from '../../../client/clock.ts';
import { setTimeout, yieldToEventLoop } from '../../../machine/timers.ts';
import type { TsigKey } from '../../../dnswire/tsig.ts';
import { Rfc2136Provider } from './provider.ts';
import type { Answer } from './testing/hostile-server.ts';
import { address, framed, HostileServer, responseWith, soa } from './testing/hostile-server.ts';

const { signal } = new AbortController();
const zone = 'example.org';
const key: TsigKey = { name: 'k', algorithm: 'hmac-sha256', secret: randomBytes(32) };
const whole = (id: number): Uint8Array => responseWith([soa(1), address('www.example.org', 1), soa(1)], id);

function* forEver(piece: () => Uint8Array): Iterable<Uint8Array> {
  for (;;) yield piece();
}

/** Sends one byte in 10 ms. */
async function* drip(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (const byte of bytes) {
    yield Uint8Array.of(byte);
    await new Promise<void>((resolve) => void setTimeout(resolve, 10));
  }
}

function* startOf(id: number, rest: Iterable<Uint8Array>): Iterable<Uint8Array> {
  yield responseWith([soa(1)], id);
  yield* rest;
}

interface Case {
  readonly name: string;
  readonly answer: Answer;
  readonly error: RegExp;
  readonly key?: TsigKey;
  readonly timeoutMs?: number;
}

/** A message that has a name which points to itself. */
function pointerLoop(id: number): Uint8Array {
  const bytes = Buffer.from(responseWith([soa(1)], id));
  bytes.set([0xc0, 12], 14); // the owner of the record, after the length and the header
  return bytes;
}

const cases: readonly Case[] = [
  { name: 'random bytes', answer: () => [framed(randomBytes(500))], error: /malformed answer/ },
  { name: 'an empty message', answer: () => [framed(new Uint8Array())], error: /malformed answer/ },
  { name: 'the answer to another query', answer: (id) => [whole(id ^ 1)], error: /malformed answer/ },
  { name: 'a query', answer: (id) => [responseWith([], id, 0)], error: /malformed answer/ },
  { name: 'a name that points to itself', answer: (id) => [pointerLoop(id)], error: /malformed answer/ },
  { name: 'a part of a message', answer: (id) => [whole(id).subarray(0, 40)], error: /the connection was closed/ },
  { name: 'one byte at a time', answer: (id) => drip(whole(id)), error: /no answer within 0\.2 s/, timeoutMs: 200 },
  { name: 'a part of a zone', answer: (id) => [responseWith([soa(1)], id)], error: /the connection was closed/ },
  {
    name: 'no SOA first',
    answer: (id) => [responseWith([address('a.example.org', 1)], id)],
    error: /begin with a SOA/,
  },
  { name: 'an error in the middle', answer: (id) => startOf(id, [responseWith([], id, 0x8002)]), error: /SERVFAIL/ },
  {
    name: 'messages without a record, without end',
    answer: (id) =>
      startOf(
        id,
        forEver(() => responseWith([], id)),
      ),
    error: /transfer of example\.org: a message has no record/,
  },
  {
    name: 'differences of a zone that was not read',
    answer: (id) => [responseWith([soa(3), soa(1), soa(2), soa(2), soa(3)], id)],
    error: /differences of an unknown zone/,
  },
  {
    name: 'records after the end',
    answer: (id) => [responseWith([soa(1), address('a.example.org', 1), soa(1), soa(1)], id)],
    error: /records follow the end/,
  },
  { name: 'no signature', answer: (id) => [whole(id)], error: /its answer is not signed/, key },
];

describe('a hostile DNS server', () => {
  for (const { name, answer, error, ...rest } of cases)
    test(`is left with a clear error when it sends ${name}`, async () => {
      await using server = await HostileServer.start(answer);
      await using good = await HostileServer.start((id) => [whole(id)]);
      const open = (...servers: readonly HostileServer[]): Rfc2136Provider =>
        new Rfc2136Provider({
          zones: [zone],
          servers: servers.map(({ place }) => place),
          key: () => rest.key,
          clock: systemClock,
          timeoutMs: rest.timeoutMs ?? 5000,
        });
      await using alone = open(server);
      await assert.rejects(alone.read(zone, signal), error);
      if (rest.key !== undefined) return;
      await using both = open(server, good);
      assert.deepEqual([...(await both.read(zone, signal)).content.keys()].toSorted(), [zone, 'www.example.org']);
    });

  test('does not keep a zone waiting longer than ten minutes with a transfer that does not end', async () => {
    const clock = { ...systemClock, elapsed: () => systemClock.elapsed() * 5000 };
    await using server = await HostileServer.start((id) =>
      startOf(
        id,
        forEver(() => responseWith([address('www.example.org', 1)], id)),
      ),
    );
    await using provider = new Rfc2136Provider({ zones: [zone], servers: [server.place], key: () => undefined, clock });
    await assert.rejects(provider.read(zone, signal), /its answer has not ended after 600 s/);
  });

  test('does not block the process, however much arrives at once', async () => {
    const many = (id: number): Uint8Array =>
      Buffer.concat(Array.from({ length: 100 }, () => responseWith([address('www.example.org', 1)], id)));
    await using server = await HostileServer.start((id) => startOf(id, [many(id), many(id), many(id)]));
    let messages = 0;
    const onMessage = (): void => void messages++;
    const options = { zones: [zone], servers: [server.place], key: () => undefined, clock: systemClock };
    await using provider = new Rfc2136Provider({ ...options, onMessage });
    const reading = assert.rejects(provider.read(zone, signal), /closed/);
    let most = 0;
    for (let last = 0; messages < 300; last = messages) {
      await yieldToEventLoop();
      most = Math.max(most, messages - last);
    }
    await reading;
    assert.ok(most <= 10, `${most} messages were read in one turn of the event loop`);
  });
});
