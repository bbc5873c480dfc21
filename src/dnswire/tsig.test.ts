import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { opcodes, types } from './codes.ts';
import { concat, uint16s } from './record.ts';
import type { TsigKey } from './tsig.ts';
import { tsigAlgorithms, TsigExchange } from './tsig.ts';
import { readMessage } from './message.ts';
import { MessageWriter } from './writer.ts';

const key: TsigKey = { name: 'fl-key', algorithm: 'hmac-sha256', secret: Buffer.from('0123456789abcdef') };
const now = 1_700_000_000;

/** A message with a question, as query or answer. */
function message(flags: number = opcodes.QUERY, name = 'example.org'): Uint8Array {
  const writer = new MessageWriter();
  writer.header({ id: 0x1234, flags, questions: 1, answers: 0, authorities: 0, additionals: 0 });
  writer.question({ name, type: types.SOA, class: 1 });
  return writer.bytes();
}

const wire = (name: string): Buffer =>
  Buffer.from(
    `${name
      .split('.')
      .map((label) => String.fromCharCode(label.length) + label)
      .join('')}\0`,
  );
const time = (seconds: number): Uint8Array =>
  uint16s(Math.floor(seconds / 2 ** 32), (seconds >>> 16) & 0xffff, seconds & 0xffff, 300);

interface Signing {
  readonly prior: Uint8Array;
  readonly form: 'whole' | 'timers';
  readonly error?: number;
  readonly other?: Uint8Array;
  readonly seconds?: number;
  readonly between?: readonly Uint8Array[];
}

/** Signs a message as a server does, written down apart from the code. */
function signed(
  plain: Uint8Array,
  { prior, form, error = 0, other = Buffer.alloc(0), seconds = now, between = [] }: Signing,
): { readonly bytes: Uint8Array; readonly mac: Uint8Array } {
  const variables = [
    wire('fl-key'),
    uint16s(255, 0, 0),
    wire('hmac-sha256'),
    time(seconds),
    uint16s(error, other.length),
    other,
  ];
  const hmac = createHmac('sha256', key.secret);
  for (const part of [
    uint16s(prior.length),
    prior,
    ...between,
    plain,
    ...(form === 'whole' ? variables : [time(seconds)]),
  ])
    hmac.update(part);
  const mac = hmac.digest();
  const data = concat([
    wire('hmac-sha256'),
    time(seconds),
    uint16s(mac.length),
    mac,
    uint16s(0x1234, error, other.length),
    other,
  ]);
  const bytes = concat([plain, wire('fl-key'), uint16s(250, 255, 0, 0, data.length), data]);
  bytes[11] = (bytes[11] ?? 0) + 1;
  return { bytes, mac };
}

/** The MAC of a query. */
function macOf(query: Uint8Array): Uint8Array {
  const data = readMessage(query)?.additional[0]?.data ?? Buffer.alloc(0);
  return data.subarray(13 + 10, 13 + 10 + 32);
}

const open = (seconds = now): { readonly exchange: TsigExchange; readonly mac: Uint8Array } => {
  const exchange = new TsigExchange(key, () => seconds);
  return { exchange, mac: macOf(exchange.sign(message())) };
};

describe('TSIG', () => {
  test('a query is signed over the message and the variables of RFC 8945', () => {
    const plain = message();
    const query = new TsigExchange(key, () => now).sign(plain);
    const hmac = createHmac('sha256', key.secret);
    for (const part of [plain, wire('fl-key'), uint16s(255, 0, 0), wire('hmac-sha256'), time(now), uint16s(0, 0)])
      hmac.update(part);
    assert.deepEqual(Buffer.from(macOf(query)), hmac.digest());
    assert.equal(readMessage(query)?.header.additionals, 1);
  });

  test('later messages of an answer are signed over the last MAC and the timers', () => {
    const { exchange, mac } = open();
    const first = signed(message(0x8000), { prior: mac, form: 'whole' });
    const second = signed(message(0x8000), { prior: first.mac, form: 'timers' });
    assert.deepEqual(exchange.verify(first.bytes), { state: 'valid' });
    assert.deepEqual(exchange.verify(second.bytes), { state: 'valid' });
    const whole = signed(message(0x8000), { prior: second.mac, form: 'whole' });
    assert.deepEqual(exchange.verify(whole.bytes), { state: 'forged' });
  });

  test('up to 99 messages between two signed ones may be unsigned, and count for the next signature', () => {
    const { exchange, mac } = open();
    const first = signed(message(0x8000), { prior: mac, form: 'whole' });
    exchange.verify(first.bytes);
    const between = Array.from({ length: 99 }, (_, index) => message(0x8000, `n${index}.example.org`));
    for (const each of between) assert.equal(exchange.verify(each).state, 'pending');
    assert.equal(exchange.isComplete, false);
    assert.equal(exchange.verify(message(0x8000)).state, 'unsigned');
    const last = signed(message(0x8000), { prior: first.mac, form: 'timers', between });
    assert.deepEqual(exchange.verify(last.bytes), { state: 'valid' });
    assert.equal(exchange.isComplete, true);
  });

  test('an answer that is changed, of another key, of another query, unsigned or malformed is not valid', () => {
    const { exchange, mac } = open();
    const { bytes } = signed(message(0x8000), { prior: mac, form: 'whole' });
    const changed = bytes.slice();
    changed[14] = (changed[14] ?? 0) ^ 1;
    assert.equal(exchange.verify(changed).state, 'forged');
    assert.equal(open(now + 1).exchange.verify(bytes).state, 'forged', 'the answer to another query');
    const stranger = new TsigExchange({ ...key, name: 'other' }, () => now);
    stranger.sign(message());
    assert.equal(stranger.verify(bytes).state, 'forged');
    assert.equal(exchange.verify(message(0x8000)).state, 'unsigned');
    assert.equal(exchange.verify(bytes.subarray(0, -1)).state, 'malformed');
    assert.equal(exchange.verify(bytes).state, 'valid');
  });

  test('an answer from outside the window is not valid, though its signature is', () => {
    const exchange = new TsigExchange(key, () => now);
    const mac = macOf(exchange.sign(message()));
    const { bytes } = signed(message(0x8000), { prior: mac, form: 'whole', seconds: now - 301 });
    assert.deepEqual(exchange.verify(bytes), { state: 'mistimed', serverSeconds: now - 301 });
  });

  test('BADTIME has the clock of the server, and is verified', () => {
    const { exchange, mac } = open();
    const other = uint16s(0, ((now + 1000) >>> 16) & 0xffff, (now + 1000) & 0xffff);
    const { bytes } = signed(message(0x8009), { prior: mac, form: 'whole', error: 18, other });
    assert.deepEqual(exchange.verify(bytes), {
      state: 'rejected',
      error: 18,
      isVerified: true,
      serverSeconds: now + 1000,
    });
  });

  test('all algorithms sign', () => {
    for (const algorithm of tsigAlgorithms) {
      const query = new TsigExchange({ ...key, algorithm }, () => now).sign(message());
      assert.equal(readMessage(query)?.additional[0]?.type, types.TSIG, algorithm);
    }
  });

  test('random changes of a signed answer are never valid, and never throw', () => {
    const { exchange, mac } = open();
    const { bytes } = signed(message(0x8000), { prior: mac, form: 'whole' });
    for (let index = 0; index < bytes.length; index++) {
      for (const bit of [1, 16, 128]) {
        const changed = bytes.slice();
        changed[index] = (changed[index] ?? 0) ^ bit;
        const { state } = exchange.verify(changed);
        // The header's id is not covered: the original id is.
        if (index > 1 && state === 'valid') assert.ok(isCaseOfName(index, bytes), `byte ${index} bit ${bit}: ${state}`);
      }
    }
  });
});

/** Names in a TSIG record are compared in lower case. */
const isCaseOfName = (index: number, bytes: Uint8Array): boolean => index >= bytes.length - 150;
