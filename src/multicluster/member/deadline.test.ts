import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '../../client/client.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { ApiRequest } from '../../client/transport.ts';
import { leasesIn } from '../lease/renewer.ts';
import { hasCurrentSlices } from '../sync/export-reconciler.ts';
import { Member } from './member.ts';

/** A server that never answers. */
const hangs = ({ signal }: ApiRequest): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));

const silent = new Client({
  request: hangs,
  // oxlint-disable-next-line require-yield -- it never yields
  async *stream(call) {
    await hangs(call);
  },
  [Symbol.dispose]() {},
});

const log = { debug() {}, warn() {} };

const listener = { source() {}, target() {}, gateways() {}, namespace() {}, state() {} };

describe('a server that never answers', () => {
  for (const [what, ask] of Object.entries({
    'a list of slices': (member: Member, signal: AbortSignal) => hasCurrentSlices(member, 'shop/web', signal),
    'a list of leases': leasesIn,
  }))
    test(`fails ${what} after 15 seconds`, async () => {
      const clock = new ManualClock();
      await using member = new Member({ id: 'east', client: silent, listener, log, clock });
      const failure = assert.rejects(ask(member, new AbortController().signal), { message: 'no answer in 15000 ms' });
      await clock.advance(15_000);
      await failure;
    });
});
