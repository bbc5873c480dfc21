// Tests every row of the record catalogue with real clients, against `fairlead up` and `fairlead dns`.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { run } from '../harness/command.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { Bind } from './bind.ts';
import { startOutside } from './bind.ts';
import type { Question } from './clients.ts';
import { ask, dig, gist, resolveByNode } from './clients.ts';
import type { Stand } from './stands.ts';
import { applyFile, startAlone, startUp } from './stands.ts';

const zone = 'svc.cluster.local';

/** `name type` → the expected result: records, NODATA, or a response code after the records before it. */
type Row = readonly [what: string, question: string, want: readonly string[]];

const rows: readonly Row[] = [
  ['row 1: the version', 'dns-version.cluster.local TXT', ['TXT "1.1.0"']],
  ['row 1: has no address', 'dns-version.cluster.local A', ['NODATA']],
  ['row 2: A of a ClusterIP', `web.shop.${zone} A`, ['A 10.96.1.1']],
  ['row 2: AAAA of a ClusterIP', `web.shop.${zone} AAAA`, ['AAAA fd00:96::1:1']],
  ['row 2: NodePort is the same', `node.shop.${zone} A`, ['A 10.96.1.3']],
  ['row 2: no IPv6, no AAAA', `node.shop.${zone} AAAA`, ['NODATA']],
  ['row 2: IPv6 alone', `six.shop.${zone} AAAA`, ['AAAA fd00:96::1:6']],
  ['row 2: IPv6 alone has no A', `six.shop.${zone} A`, ['NODATA']],
  ['row 3: SRV of TCP', `_http._tcp.web.shop.${zone} SRV`, [`SRV 0 100 80 web.shop.${zone}.`]],
  ['row 3: SRV of UDP', `_dns._udp.web.shop.${zone} SRV`, [`SRV 0 100 53 web.shop.${zone}.`]],
  ['row 3: SRV of SCTP', `_ctl._sctp.web.shop.${zone} SRV`, [`SRV 0 100 99 web.shop.${zone}.`]],
  ['row 3: a port without a name has none', `_80._tcp.unnamed.shop.${zone} SRV`, ['NXDOMAIN']],
  ['row 3: nor anything else', `unnamed.shop.${zone} SRV`, ['NODATA']],
  ['row 3: a protocol is an empty non-terminal', `_tcp.web.shop.${zone} SRV`, ['NODATA']],
  ['row 3: another protocol', `_http._udp.web.shop.${zone} SRV`, ['NXDOMAIN']],
  ['row 3: SRV has no address', `_http._tcp.web.shop.${zone} A`, ['NODATA']],
  ['row 4: PTR of IPv4', '1.1.96.10.in-addr.arpa PTR', [`PTR web.shop.${zone}.`]],
  [
    'row 4: PTR of IPv6',
    '1.0.0.0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa PTR',
    [`PTR web.shop.${zone}.`],
  ],
  ['row 4: a level above is there', '1.96.10.in-addr.arpa PTR', ['NODATA']],
  ['row 4: no address at a reverse name', '1.1.96.10.in-addr.arpa A', ['NODATA']],
  ['row 5: A of ready endpoints', `db.shop.${zone} A`, ['A 10.1.0.1', 'A 10.1.0.2']],
  ['row 5: AAAA of ready endpoints', `db.shop.${zone} AAAA`, ['AAAA fd00:1::', 'AAAA fd00:1::1']],
  ['row 5: none ready', `idle.shop.${zone} A`, ['NXDOMAIN']],
  ['row 5: none ready, AAAA', `idle.shop.${zone} AAAA`, ['NXDOMAIN']],
  ['row 5: none ready, SRV', `_http._tcp.idle.shop.${zone} SRV`, ['NXDOMAIN']],
  ['row 5: one family only', `four.shop.${zone} AAAA`, ['NODATA']],
  ['row 6: A by host name', `db-0.db.shop.${zone} A`, ['A 10.1.0.1']],
  ['row 6: AAAA by host name', `db-0.db.shop.${zone} AAAA`, ['AAAA fd00:1::1']],
  ['row 6: A by address', `10-1-0-2.db.shop.${zone} A`, ['A 10.1.0.2']],
  ['row 6: AAAA by address', `fd00-1--0.db.shop.${zone} AAAA`, ['AAAA fd00:1::']],
  ['row 6: not ready', `db-2.db.shop.${zone} A`, ['NXDOMAIN']],
  ['row 6: terminating', `db-3.db.shop.${zone} A`, ['NXDOMAIN']],
  [
    'row 7: SRV of endpoints, with the port of the slice',
    `_pg._tcp.db.shop.${zone} SRV`,
    [
      `SRV 0 100 6432 10-1-0-2.db.shop.${zone}.`,
      `SRV 0 100 6432 db-0.db.shop.${zone}.`,
      `SRV 0 100 6432 fd00-1--0.db.shop.${zone}.`,
    ],
  ],
  ['row 8: PTR with the host name', '1.0.1.10.in-addr.arpa PTR', [`PTR db-0.db.shop.${zone}.`]],
  ['row 8: PTR with the address', '2.0.1.10.in-addr.arpa PTR', [`PTR 10-1-0-2.db.shop.${zone}.`]],
  [
    'row 8: PTR of IPv6',
    '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.0.0.d.f.ip6.arpa PTR',
    [`PTR db-0.db.shop.${zone}.`],
  ],
  ['SRV-6 kerberos over TCP', `_kerberos._tcp.idm.shop.${zone} SRV`, [`SRV 0 100 88 idm.shop.${zone}.`]],
  ['SRV-6 kerberos over UDP', `_kerberos._udp.idm.shop.${zone} SRV`, [`SRV 0 100 88 idm.shop.${zone}.`]],
  ['SRV-6 the name of the port is no SRV name', `_kerberos-tcp._tcp.idm.shop.${zone} SRV`, ['NXDOMAIN']],
  [
    'SRV-6 a port without the field keeps its name',
    `_admin._tcp.idm.shop.${zone} SRV`,
    [`SRV 0 100 749 idm.shop.${zone}.`],
  ],
  ['SRV-13 by annotation, TCP', `_ldap._tcp.ldap.shop.${zone} SRV`, [`SRV 0 100 389 ldap.shop.${zone}.`]],
  ['SRV-13 by annotation, UDP', `_ldap._udp.ldap.shop.${zone} SRV`, [`SRV 0 100 389 ldap.shop.${zone}.`]],
  ['SIP over TCP', `_sip._tcp.sip.shop.${zone} SRV`, [`SRV 0 100 5060 sip.shop.${zone}.`]],
  ['SIP over UDP', `_sip._udp.sip.shop.${zone} SRV`, [`SRV 0 100 5060 sip.shop.${zone}.`]],
  ['SIP: the cluster IP, not the load balancer', `sip.shop.${zone} A`, ['A 10.96.1.60']],
  ['NAME-7 A', `1web.shop.${zone} A`, ['A 10.96.1.7']],
  ['NAME-7 SRV', `_http._tcp.1web.shop.${zone} SRV`, [`SRV 0 100 80 1web.shop.${zone}.`]],
  ['NAME-7 PTR', '7.1.96.10.in-addr.arpa PTR', [`PTR 1web.shop.${zone}.`]],
  ['NAME-7 headless', `1host.1db.shop.${zone} A`, ['A 10.1.2.1']],
  ['NAME-7 headless PTR', '1.2.1.10.in-addr.arpa PTR', [`PTR 1host.1db.shop.${zone}.`]],
  ['an import', 'cart.shop.svc.clusterset.local A', ['A 10.96.9.1']],
  ['an import: SRV', '_http._tcp.cart.shop.svc.clusterset.local SRV', ['SRV 0 100 80 cart.shop.svc.clusterset.local.']],
  ['a headless import', 'peers.shop.svc.clusterset.local A', ['A 10.2.0.1']],
  ['a headless import: by host name', 'p0.west.peers.shop.svc.clusterset.local A', ['A 10.2.0.1']],
  ['a headless import: a cluster has no address', 'west.peers.shop.svc.clusterset.local A', ['NODATA']],
  ['the version of imports', 'dns-version.clusterset.local TXT', ['TXT "1.0.0"']],
  ['an ImportedService', 'cart.shop.svc.supercluster.local A', ['A 10.96.9.2']],
  ['imports are not in the zone of the cluster', `cart.shop.${zone} A`, ['NXDOMAIN']],
  ['nobody', `nobody.shop.${zone} A`, ['NXDOMAIN']],
  ['no namespace', `web.nowhere.${zone} A`, ['NXDOMAIN']],
  ['a namespace exists', `shop.${zone} TXT`, ['NODATA']],
  ['wildcards are names like others', `*.shop.${zone} A`, ['NXDOMAIN']],
  ['a search list that was added', `www.example.org.shop.${zone} A`, ['NXDOMAIN']],
];

/** Rows that only clients that print CNAME records can check. */
const aliases: readonly Row[] = [
  ['row 9, EXT-1 in the cluster', `inside.shop.${zone} A`, ['A 10.96.1.1', `CNAME web.shop.${zone}.`]],
  ['EXT-1 in the cluster, AAAA', `inside.shop.${zone} AAAA`, ['AAAA fd00:96::1:1', `CNAME web.shop.${zone}.`]],
  ['EXT-1 an alias answers every type', `inside.shop.${zone} MX`, [`CNAME web.shop.${zone}.`]],
  ['EXT-1 outside', `outside.shop.${zone} A`, ['A 192.0.2.1', 'CNAME www.example.org.']],
  ['EXT-1 outside, AAAA', `outside.shop.${zone} AAAA`, ['AAAA 2001:db8::1', 'CNAME www.example.org.']],
  ['EXT-1 outside, TXT', `outside.shop.${zone} TXT`, ['CNAME www.example.org.', 'TXT "the world"']],
  [
    'EXT-1 a name in the cluster with a target outside',
    `chain.shop.${zone} A`,
    ['A 192.0.2.1', `CNAME outside.shop.${zone}.`, 'CNAME www.example.org.'],
  ],
  ['EXT-3 to nobody in the cluster', `gone.shop.${zone} A`, ['NXDOMAIN', `CNAME nobody.shop.${zone}.`]],
  ['EXT-3 to nobody outside', `nowhere.shop.${zone} A`, ['NXDOMAIN', 'CNAME gone.example.org.']],
  ['EXT-4 a loop ends', `ping.shop.${zone} A`, ['SERVFAIL']],
  ['forwarded: an address', 'www.example.org A', ['A 192.0.2.1']],
  ['forwarded: no such name', 'nobody.example.org A', ['NXDOMAIN']],
];

const questionOf = ([, text]: Row): Question => {
  const [name = '', type = ''] = text.split(' ');
  return { name, type };
};

/** One text, so that a failure shows all differences. */
const print = (table: readonly Row[], got: readonly (readonly string[])[]): string =>
  table.map(([what], index) => [what, ...(got[index] ?? [])].join('\n    ')).join('\n');
const wanted = (table: readonly Row[]): string =>
  print(
    table,
    table.map(([, , want]) => want),
  );

const stands = {
  'fairlead up': (upstream: string) => startUp({ dns: `upstream: ${upstream}\n` }),
  'fairlead dns': (upstream: string) => startAlone(['--upstream', upstream]),
};

for (const [name, start] of Object.entries(stands)) {
  describe(`the record catalogue of ${name}`, { skip: unlessInstalled('dig', 'kdig', 'named') }, () => {
    const stack = new AsyncDisposableStack();
    let outside: Bind;
    let stand: Stand;
    before(async () => {
      outside = stack.use(await startOutside());
      stand = stack.use(await start(`127.0.0.1:${outside.place.port}`));
      await applyFile(stand, 'catalogue.yaml');
    });
    after(() => stack.disposeAsync());

    for (const client of ['dig', 'kdig'] as const) {
      for (const [transport, flag] of [
        ['UDP', '+notcp'],
        ['TCP', '+tcp'],
      ] as const) {
        test(`${client} over ${transport}`, async () => {
          const table = [...rows, ...aliases];
          const replies = await ask(client, stand.dns, table.map(questionOf), [flag]);
          assert.equal(print(table, replies.map(gist)), wanted(table));
          const malformed = replies.filter(({ text }) => /malformed|extra bytes|WARNING: (?!\.local)/i.test(text));
          assert.deepEqual(malformed, []);
          for (const [index, { flags, authority }] of replies.slice(0, rows.length).entries()) {
            const what = rows[index]?.[0] ?? '';
            assert.match(flags, /qr aa rd ra/, what);
            const isNegative = /^(NODATA|NXDOMAIN)$/.test(rows[index]?.[2][0] ?? '');
            assert.equal(authority.length, isNegative ? 1 : 0, what);
            if (isNegative) assert.match(authority[0] ?? '', /^SOA .* 5$/, 'negative answers have a short TTL');
          }
        });
      }
    }

    test("Node's resolver", async () => {
      const got = await Promise.all(rows.map((row) => resolveByNode(stand.dns, questionOf(row))));
      assert.equal(print(rows, got), wanted(rows));
    });

    test('an SRV reply contains the addresses of its targets', async () => {
      const { additional } = await dig(stand.dns, `_pg._tcp.db.shop.${zone}`, 'SRV');
      assert.deepEqual(additional, ['A 10.1.0.1', 'A 10.1.0.2', 'AAAA fd00:1::', 'AAAA fd00:1::1']);
    });

    test('preserves case, answers EDNS, and returns its own cookies', async () => {
      const mixed = await dig(stand.dns, `wEb.ShOp.sVc.cLuStEr.LoCaL`);
      assert.match(mixed.text, /^wEb\.ShOp\.sVc\.cLuStEr\.LoCaL\.\s/m);
      assert.match(mixed.text, /COOKIE: [0-9a-f]{16}01000000[0-9a-f]{24} \(good\)/);
      assert.match(mixed.text, /udp: 1232$/m);
      const any = await dig(stand.dns, `web.shop.${zone}`, 'ANY');
      assert.deepEqual(any.answer, ['HINFO "RFC8482" ""']);
      assert.equal((await dig(stand.dns, `web.shop.${zone}`, 'A', '+edns=1', '+noednsneg')).status, 'BADVERS');
      assert.equal((await dig(stand.dns, `web.shop.${zone}`, 'A', '+opcode=update')).status, 'NOTIMP');
      const transfer = await run('dig', [
        `@${stand.dns.address}`,
        '-p',
        String(stand.dns.port),
        'cluster.local',
        'AXFR',
      ]);
      assert.match(transfer.out, /Transfer failed/);
    });

    test('SRV-12 a metric counts SRV names that were set by srvServiceName', async () => {
      const text = await stand.metrics();
      assert.match(text, /^fairlead_dns_srv_service_name_ports\{by="field"\} 4$/m);
      assert.match(text, /^fairlead_dns_srv_service_name_ports\{by="annotation"\} 2$/m);
      assert.match(text, /^coredns_dns_responses_total\{.*rcode="NXDOMAIN".*\} [1-9]/m);
    });

    test('the role of the server grants everything that it reads', () => {
      assert.doesNotMatch(stand.process.err, /forbidden|"level":(?:50|60)/i);
    });
  });
}
