import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '../../client/client.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { ApiRequest } from '../../client/transport.ts';
import { leasesIn } from '../lease/renewer.ts';
import { hasCurrentSlices } from '../sync/export-reconciler.ts';
import { Member } from './member.ts';

/** A server that takes questions and never answers one. */
const hangs = ({ signal }: ApiRequest): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));

const silent = new Client({
  request: hangs,
  // oxlint-disable-next-line require-yield -- nothing ever comes
  async *stream(call) {
    await hangs(call);
  },
  [Symbol.dispose]() {},
});

const nobody = { source() {}, target() {}, namespace() {}, state() {} };

describe('a server that takes questions and answers none', () => {
  for (const [what, ask] of Object.entries({
    'whether slices have arrived': (member: Member, signal: AbortSignal) =>
      hasCurrentSlices(member, 'shop/web', signal),
    'which leases it has': leasesIn,
  }))
    test(`is not waited for longer than for a write: ${what}`, async () => {
      const clock = new ManualClock();
      await using member = new Member({ id: 'east', client: silent, listener: nobody, onError() {}, clock });
      const failure = assert.rejects(ask(member, new AbortController().signal), { message: 'no answer in 15000 ms' });
      await clock.advance(15_000);
      await failure;
    });
});
