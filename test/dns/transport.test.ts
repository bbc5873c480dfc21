import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { apex, sampleTable } from '../../src/dns/transport/testing/sample.ts';
import type { RunningDns } from '../../src/dns/transport/server.ts';
import { startDnsServer } from '../../src/dns/transport/server.ts';
import { unlessInstalled } from '../harness/needs.ts';

// Real clients and real sockets. Needs dig and kdig (bind9-dnsutils, knot-dnsutils).

const run = promisify(execFile);

const skip = unlessInstalled('dig', 'kdig');

async function withServer(transport: 'batch' | 'dgram', use: (port: number, server: RunningDns) => Promise<void>) {
  const server = await startDnsServer({
    listen: [{ address: '127.0.0.1', port: 0 }],
    workers: 2,
    table: sampleTable(),
    transport,
    reply: { recursionAvailable: true, cookieSecrets: [Buffer.alloc(16, 1)] },
    // The slow path of this test refuses every query.
    slowPath: async (query) => {
      const reply = Uint8Array.from(query.subarray(0, 12));
      reply[2] = (reply[2] ?? 0) | 0x80;
      reply[3] = 5;
      return [Buffer.concat([reply.fill(0, 6, 12), query.subarray(12, query.indexOf(0, 12) + 5)])];
    },
    onError: (error) => assert.fail(String(error)),
  });
  try {
    assert.equal(server.transport, transport);
    await use(server.addresses[0]?.port ?? 0, server);
  } finally {
    await server.close();
  }
}

async function dig(port: number, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('dig', ['@127.0.0.1', '-p', String(port), '+tries=1', '+time=5', ...args]);
  return stdout;
}

const web = `web.ns.svc.${apex}`;

for (const transport of ['batch', 'dgram'] as const) {
  test(`${transport}: answers dig, kdig and Node's resolver`, { skip }, async () => {
    await withServer(transport, async (port) => {
      const plain = await dig(port, web, 'A');
      assert.match(plain, /status: NOERROR/);
      assert.match(plain, /flags: qr aa rd ra;/);
      assert.match(plain, /COOKIE: [0-9a-f]{16}01000000[0-9a-f]{24} \(good\)/);
      assert.match(plain, new RegExp(`^${web}\\.\\s+30\\s+IN\\s+A\\s+10\\.0\\.0\\.1$`, 'm'));
      assert.doesNotMatch(plain, /recursion requested but not available|echoed|malformed|extra bytes/);
      assert.match(await dig(port, 'WeB.nS.sVc.ClUsTeR.lOcAl', '+noedns'), /^WeB\.nS\.sVc\.ClUsTeR\.lOcAl\./m);
      assert.match(await dig(port, web, '+tcp'), /10\.0\.0\.1\n[^]*\(TCP\)/);
      assert.match(await dig(port, web, '+edns=1', '+noednsneg'), /status: BADVERS/);
      assert.match(await dig(port, web, 'CH', 'TXT'), /status: REFUSED/);
      assert.match(await dig(port, '+opcode=status', web), /status: NOTIMP/);
      assert.match(await dig(port, 'example.org'), /status: REFUSED/);
      const nothing = await dig(port, `nothing.${apex}`, 'AAAA');
      assert.match(nothing, /status: NXDOMAIN/);
      assert.match(nothing, /^cluster\.local\.\s+5\s+IN\s+SOA\s+ns\.dns\.cluster\.local\. hostmaster/m);
      // The UDP reply is truncated, so dig retries over TCP.
      const many = await dig(port, `many.ns.svc.${apex}`, '+noedns');
      assert.match(many, /Truncated, retrying in TCP mode/);
      assert.match(many, /ANSWER: 100,/);
      const { stdout } = await run('kdig', [
        '@127.0.0.1',
        '-p',
        String(port),
        '+tcp',
        '+keepopen',
        web,
        'A',
        web,
        'AAAA',
      ]);
      assert.match(stdout, /10\.0\.0\.1/);
      assert.match(stdout, /AUTHORITY: 1/);
      const resolver = new Resolver();
      resolver.setServers([`127.0.0.1:${port}`]);
      assert.deepEqual(await resolver.resolve4(web), ['10.0.0.1']);
      await assert.rejects(resolver.resolve4(`nothing.${apex}`), { code: 'ENOTFOUND' });
      await assert.rejects(resolver.resolve6(web), { code: 'ENODATA' });
    });
  });
}
