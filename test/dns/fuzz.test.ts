// A short run with a fixed seed; `npm run fuzz:dns` is the long one.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { unlessInstalled } from '../harness/needs.ts';
import { dig, gist } from './clients.ts';
import { fuzzTcp, fuzzUdp, startLiar, startVictim } from './fuzz.ts';

test(
  '60,000 mutated messages over UDP and TCP: no crash, no hang, bounded memory and reply sizes',
  { skip: unlessInstalled('dig') },
  async () => {
    using liar = await startLiar(7);
    await using stand = await startVictim(liar.port);
    await fuzzUdp(stand.dns, { packets: 5000, seed: 1 });
    const before = await stand.process.residentBytes();
    const udp = await fuzzUdp(stand.dns, { packets: 30_000, seed: 2 });
    const tcp = await fuzzTcp(stand.dns, { packets: 30_000, seed: 3 });
    assert.ok(udp.replies > 5000 && tcp.replies > 5000, `${udp.replies} and ${tcp.replies} replies`);
    assert.ok(udp.largest <= 1232);
    const grown = ((await stand.process.residentBytes()) - before) / 1024 / 1024;
    assert.ok(grown < 100, `${grown} MiB more`);
    assert.equal(stand.process.hasEnded, false);
    assert.doesNotMatch(stand.process.err, /worker died/);
    assert.deepEqual(gist(await dig(stand.dns, 'web.shop.svc.cluster.local')), ['A 10.96.1.1']);
  },
);
