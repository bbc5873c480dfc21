// Forwarding to other servers: BIND and Knot, with a test zone.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Forwarder } from '../../src/dns/forward/forwarder.ts';
import type { Endpoint } from '../../src/dns/forward/udp.ts';
import { Upstream } from '../../src/dns/forward/upstream.ts';
import type { UpstreamAnswer } from '../../src/dns/resolver.ts';
import { rcodeName, types, typeName } from '../../src/dnswire/codes.ts';
import { readName } from '../../src/dnswire/name.ts';
import type { RawRecord } from '../../src/dnswire/record.ts';
import { readData } from '../../src/dnswire/record.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import type { Running } from '../harness/command.ts';
import { start } from '../harness/command.ts';
import { find, unlessInstalled } from '../harness/needs.ts';

const zone = `
$ORIGIN example.org.
$TTL 300
@        IN SOA ns hostmaster 7 7200 1800 86400 60
@        IN NS  ns
ns       IN A   192.0.2.53
www      IN A   192.0.2.1
www      IN AAAA 2001:db8::1
alias    IN CNAME www
chain    IN CNAME alias
dangling IN CNAME gone
@        IN MX  10 mail
mail     IN A   192.0.2.25
_sip._tcp IN SRV 1 2 5060 www
*.wild   IN A   192.0.2.9
short  1 IN A   192.0.2.7
many     IN TXT ${Array.from({ length: 30 }, (_, index) => `"${String(index).padStart(4, '0')}${'x'.repeat(200)}"`).join(' ')}
`;

interface Vendor {
  readonly name: string;
  readonly program: string;
  readonly config: (folder: string, port: number) => string;
  readonly args: (configFile: string, port: number) => readonly string[];
}

const vendors: readonly Vendor[] = [
  {
    name: 'BIND',
    program: 'named',
    config: (folder, port) => `
      options {
        directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
        recursion no; pid-file none; session-keyfile none; managed-keys-directory "${folder}"; dnssec-validation no;
      };
      controls {};
      zone "example.org" { type primary; file "zone"; };`,
    args: (configFile) => ['-g', '-n', '1', '-c', configFile],
  },
  {
    name: 'Knot',
    program: 'knotd',
    config: (folder, port) => `
server:
  listen: 127.0.0.1@${port}
  rundir: ${folder}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: ${folder}
zone:
  - domain: example.org
    storage: ${folder}
    file: zone
    journal-content: none
    zonefile-load: whole
`,
    args: (configFile) => ['-c', configFile],
  },
];

/** Queries until the server answers. */
async function answersAt(endpoint: Endpoint, running: Running): Promise<void> {
  const upstream = new Upstream(endpoint);
  const question = { name: 'www.example.org', type: types.A, class: 1 };
  const query = { question, dnssecOk: false, checkingDisabled: false, hops: new Uint8Array() };
  for (let tries = 0; tries < 100; tries++) {
    const message = await upstream.ask(query, AbortSignal.timeout(2000)).catch(() => undefined);
    if ((message?.answers.length ?? 0) > 0) return;
    await sleep(50);
  }
  throw new Error(`the server does not answer: ${running.printed}`);
}

async function withServer<T>(vendor: Vendor, run: (endpoint: Endpoint) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'forward-'));
  const endpoint = { address: '127.0.0.1', port: await freePort() };
  await writeFile(join(folder, 'zone'), zone);
  await writeFile(join(folder, 'config'), vendor.config(folder, endpoint.port));
  const running = start(find(vendor.program) ?? vendor.program, vendor.args(join(folder, 'config'), endpoint.port), {
    cwd: folder,
  });
  try {
    await answersAt(endpoint, running);
    return await run(endpoint);
  } finally {
    running[Symbol.dispose]();
    await running.ended.catch(() => undefined); // terminated by this function
    await rm(folder, { recursive: true });
  }
}

function print({ owner, type, data }: RawRecord): string {
  const read = readData(type, data);
  switch (read?.type) {
    case 'A':
    case 'AAAA':
      return `${owner} ${read.type} ${read.address}`;
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return `${owner} ${read.type} ${read.target}`;
    case 'SRV':
      return `${owner} SRV ${read.priority} ${read.weight} ${read.port} ${read.target}`;
    case 'TXT':
      return `${owner} TXT of ${read.text.length} strings`;
    case 'SOA':
      return `${owner} SOA ${read.serial}`;
    case undefined:
      return `${owner} ${typeName(type)} ${readName(data, 2)?.name ?? ''}`;
  }
}

const printAnswer = ({ rcode, answers, authority }: UpstreamAnswer): readonly string[] => [
  rcodeName(rcode),
  ...answers.map(print),
  ...authority.map((record) => `; ${print(record)}`),
];

const table: readonly { name: string; ask: string; type: number; want: readonly string[] }[] = [
  { name: 'an address', ask: 'www.example.org', type: types.A, want: ['NOERROR', 'www.example.org A 192.0.2.1'] },
  {
    name: 'an IPv6 address',
    ask: 'www.example.org',
    type: types.AAAA,
    want: ['NOERROR', 'www.example.org AAAA 2001:db8::1'],
  },
  {
    name: 'a chain of aliases',
    ask: 'chain.example.org',
    type: types.A,
    want: [
      'NOERROR',
      'chain.example.org CNAME alias.example.org',
      'alias.example.org CNAME www.example.org',
      'www.example.org A 192.0.2.1',
    ],
  },
  { name: 'a mail server', ask: 'example.org', type: types.MX, want: ['NOERROR', 'example.org MX mail.example.org'] },
  {
    name: 'a service',
    ask: '_sip._tcp.example.org',
    type: types.SRV,
    want: ['NOERROR', '_sip._tcp.example.org SRV 1 2 5060 www.example.org'],
  },
  {
    name: 'a name under a wildcard',
    ask: 'x.y.wild.example.org',
    type: types.A,
    want: ['NOERROR', 'x.y.wild.example.org A 192.0.2.9'],
  },
  {
    name: 'six kilobytes, which require TCP',
    ask: 'many.example.org',
    type: types.TXT,
    want: ['NOERROR', 'many.example.org TXT of 30 strings'],
  },
  { name: 'no such name', ask: 'gone.example.org', type: types.A, want: ['NXDOMAIN', '; example.org SOA 7'] },
  { name: 'no such type', ask: 'www.example.org', type: types.TXT, want: ['NOERROR', '; example.org SOA 7'] },
  {
    name: 'an alias of a missing name',
    ask: 'dangling.example.org',
    type: types.A,
    want: ['NXDOMAIN', 'dangling.example.org CNAME gone.example.org', '; example.org SOA 7'],
  },
  { name: 'a name outside the zones of the upstream', ask: 'example.com', type: types.A, want: ['REFUSED'] },
];

for (const vendor of vendors) {
  const skip = unlessInstalled(vendor.program);
  suite(`forwarding to ${vendor.name}`, { skip }, () => {
    test('returns the answers of the zone file, the second time from the cache', async () => {
      await withServer(vendor, async (endpoint) => {
        const forwarder = new Forwarder({ upstreams: [endpoint], upstream: { mixCase: true } });
        for (const { name, ask, type, want } of table) {
          const question = { name: ask, type, class: 1 };
          const options = { dnssecOk: false, checkingDisabled: false };
          assert.deepEqual(printAnswer(await forwarder.resolve(question, options)), want, name);
          assert.deepEqual(printAnswer(await forwarder.resolve(question, options)), want, `${name}, again`);
        }
        const { hits } = forwarder.counters.cache;
        assert.equal(hits.success + hits.denial, table.length);
        await forwarder.close();
      });
    });

    test('serves stale answers after the upstream was killed', async () => {
      const question = { name: 'short.example.org', type: types.A, class: 1 };
      const options = { dnssecOk: false, checkingDisabled: false };
      const forwarder = await withServer(vendor, async (endpoint) => {
        const own = new Forwarder({ upstreams: [endpoint] });
        await own.resolve(question, options);
        return own;
      });
      await sleep(1100);
      const answer = await forwarder.resolve(question, options);
      assert.deepEqual(printAnswer(answer), ['NOERROR', 'short.example.org A 192.0.2.7']);
      assert.equal(answer.stale, true);
      await forwarder.close();
    });
  });
}
