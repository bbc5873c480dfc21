// `fairlead publisher` as a process, with BIND and Knot.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { run } from '../harness/command.ts';
import type { FairleadProcess } from '../harness/process.ts';
import { dig } from '../dns/clients.ts';
import { key, nextKey } from './servers.ts';
import { askHealth } from '../parts/controllers-process.ts';
import type { PublisherStand } from './stand.ts';
import { balanced, setIngress, startStand } from './stand.ts';

const needs = unlessInstalled('named', 'knotd', 'dig', 'nsupdate');

for (const maker of ['BIND', 'Knot'] as const)
  describe(`the publisher with ${maker}`, { skip: needs }, () => {
    const stack = new AsyncDisposableStack();
    let stand: PublisherStand;
    let publisher: FairleadProcess;
    before(async () => {
      stand = stack.use(await startStand(maker));
      publisher = await stand.publish();
    });
    after(() => stack.disposeAsync());

    const nsupdate = async (...lines: readonly string[]): Promise<void> => {
      const { address, port } = stand.primary.place;
      const input = [`server ${address} ${port}`, 'zone example.org', ...lines, 'send', ''].join('\n');
      const { code, err } = await run('nsupdate', ['-y', `${key.algorithm}:${key.name}:${key.secret}`], { input });
      assert.equal(code, 0, err);
    };

    test("SRV-10 KEP-3241's example: a Kerberos client finds TCP and UDP from outside by one name", async () => {
      const ports =
        '[{name: tcp, port: 88, protocol: TCP, srvServiceName: kerberos}, {name: udp, port: 88, protocol: UDP, srvServiceName: kerberos}]';
      await stand.kubectl(['apply', '-f', '-'], balanced('idm', { hostname: 'idm.example.org', ports }));
      await setIngress(stand, 'idm', '[{"ip":"192.0.2.10"},{"ip":"2001:db8::10"}]');
      await stand.waitFor('_kerberos._udp.idm', 'SRV', ['SRV 0 100 88 idm.example.org.']);
      assert.deepEqual(await stand.answers('_kerberos._tcp.idm', 'SRV'), ['SRV 0 100 88 idm.example.org.']);
      assert.deepEqual(await stand.answers('idm', 'A'), ['A 192.0.2.10']);
      assert.deepEqual(await stand.answers('idm', 'AAAA'), ['AAAA 2001:db8::10']);
      assert.deepEqual(await stand.answers('srv-_kerberos._tcp.idm', 'TXT'), [
        'TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/idm"',
      ]);
      await until('an Event says so', async () =>
        (await stand.events('idm')).some((each) => each.startsWith('Published: created A idm.example.org')),
      );

      const refused =
        '[{"ip":"192.0.2.10","ports":[{"port":88,"protocol":"TCP"},{"port":88,"protocol":"UDP","error":"MixedProtocolNotSupported"}]}]';
      await setIngress(stand, 'idm', refused);
      await stand.waitFor('_kerberos._udp.idm', 'SRV', []);
      assert.deepEqual(
        await stand.answers('_kerberos._tcp.idm', 'SRV'),
        ['SRV 0 100 88 idm.example.org.'],
        'the port that is open',
      );
      await stand.kubectl(['delete', 'service', 'idm']);
      await until(
        'nothing is left',
        async () => (await dig(stand.primary.place, 'idm.example.org')).status === 'NXDOMAIN',
      );
    });

    test('SRV-10 publishes node ports at the nodes, and endpoints of a headless Service with names of their own', async () => {
      const ports = '[{name: http, port: 80, protocol: TCP, nodePort: 30080}]';
      const slice = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
        addressType: 'IPv4',
        endpoints: [
          { addresses: ['198.51.100.1'], hostname: 'db-0' },
          { addresses: ['198.51.100.2'] },
          { addresses: ['198.51.100.3'], conditions: { ready: false } },
        ],
        ports: [{ name: 'pg', port: 5432 }],
      };
      const manifests = [
        'apiVersion: v1\nkind: Node\nmetadata: {name: one}\n',
        `apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {fairlead.dev/hostname: web.example.org}}\nspec: {type: NodePort, ports: ${ports}}\n`,
        'apiVersion: v1\nkind: Service\nmetadata: {name: db, annotations: {fairlead.dev/hostname: db.example.org}}\nspec: {clusterIP: None, ports: [{name: pg, port: 5432}]}\n',
        JSON.stringify(slice),
      ];
      await stand.kubectl(['apply', '-f', '-'], manifests.join('\n---\n'));
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '192.0.2.70' },
      ];
      const conditions = [{ type: 'Ready', status: 'True' }];
      const patch = [
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({ status: { addresses, conditions } }),
      ];
      await stand.kubectl(['patch', 'node', 'one', ...patch]);
      await stand.waitFor('web', 'A', ['A 192.0.2.70']);
      await stand.waitFor('_http._tcp.web', 'SRV', ['SRV 0 100 30080 web.example.org.']);
      await stand.waitFor('db', 'A', ['A 198.51.100.1', 'A 198.51.100.2']);
      await stand.waitFor('_pg._tcp.db', 'SRV', [
        'SRV 0 100 5432 198-51-100-2.db.example.org.',
        'SRV 0 100 5432 db-0.db.example.org.',
      ]);
      assert.deepEqual(await stand.answers('db-0.db'), ['A 198.51.100.1']);
      assert.deepEqual(await stand.answers('198-51-100-2.db'), ['A 198.51.100.2']);
    });

    test('an alias becomes addresses, and all of it goes with the Service', async () => {
      await stand.kubectl(['apply', '-f', '-'], balanced('turn', { hostname: 'turn.example.org' }));
      await setIngress(stand, 'turn', '[{"hostname":"lb.example.net"}]');
      await stand.waitFor('turn', 'CNAME', ['CNAME lb.example.net.']);
      assert.deepEqual(await stand.answers('_http._tcp.turn', 'SRV'), ['SRV 0 100 80 lb.example.net.']);
      await setIngress(stand, 'turn', '[{"ip":"192.0.2.1"}]');
      await stand.waitFor('turn', 'A', ['A 192.0.2.1']);
      await stand.waitFor('_http._tcp.turn', 'SRV', ['SRV 0 100 80 turn.example.org.']);
      await stand.kubectl(['delete', 'service', 'turn']);
      await until('nothing is left', async () =>
        (await stand.primary.records()).every((line) => !line.includes('turn.example.org')),
      );
    });

    test('a record that cannot be published gets one Event and one log line, and others are unaffected', async () => {
      const names = 'shop.example.org,shop.example.net,bad..example.org,www.example.org,*.wild.example.org';
      const huge = Array.from({ length: 5000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
      await stand.kubectl(
        ['apply', '-f', '-'],
        [
          balanced('shop', { hostname: names }),
          balanced('alias', { hostname: 'mail.example.org' }),
          balanced('huge', { hostname: 'huge.example.org', annotations: `, fairlead.dev/target: "${huge.join()}"` }),
        ].join('---\n'),
      );
      await setIngress(stand, 'shop', '[{"ip":"192.0.2.11"}]');
      await setIngress(stand, 'alias', '[{"hostname":"lb.example.net"}]');
      await stand.waitFor('shop', 'A', ['A 192.0.2.11']);
      await stand.waitFor('any.wild', 'A', ['A 192.0.2.11']);
      assert.deepEqual(await stand.answers('www'), ['A 192.0.2.80'], 'it has no owner');
      assert.deepEqual(await stand.answers('mail', 'MX'), ['MX 10 www.example.org.']);
      const wanted: readonly (readonly [string, RegExp])[] = [
        ['shop', /^HostnameNotInZone: shop\.example\.net is in no zone of this publisher, which are example\.org$/],
        ['shop', /^InvalidHostname: "bad\.\.example\.org" is not a host name/],
        ['shop', /^NotOwned: A www\.example\.org exists and has no owner, so it is not changed$/],
        ['alias', /^NotOwned: MX mail\.example\.org .* not changed; an alias cannot be beside other records$/],
        ['huge', /^UpdateFailed: huge\.example\.org: the records need more than a DNS message of 65535 bytes$/],
      ];
      const matching = async (service: string, event: RegExp): Promise<number> =>
        (await stand.events(service)).filter((each) => event.test(each)).length;
      for (const [service, event] of wanted)
        await until(`${String(event)} of ${service}`, async () => (await matching(service, event)) > 0);
      // A later change shows that further syncs have repeated nothing.
      await setIngress(stand, 'shop', '[{"ip":"192.0.2.12"}]');
      await stand.waitFor('shop', 'A', ['A 192.0.2.12']);
      for (const [service, event] of wanted) {
        assert.equal(await matching(service, event), 1, String(event));
        const reason = event.source.slice(1, event.source.indexOf(':'));
        const logged = publisher.err
          .split('\n')
          .filter((line) => line.includes(`"service/default/${service}"`) && line.includes(`"reason":"${reason}"`));
        assert.equal(logged.length, 1, logged.join('\n'));
      }
      const plan = await stand.plan();
      assert.match(plan, /^NotOwned {2}service\/default\/shop: A www\.example\.org exists and has no owner/m);
      await stand.kubectl(['delete', 'service', 'huge', 'alias']);
      await until('the plan is empty', async () => /^nothing to change$/m.test(await stand.plan()));
    });

    test('a record that was changed by hand is restored; a name with another owner is not', async () => {
      await nsupdate('update delete shop.example.org A', 'update add shop.example.org 60 A 192.0.2.99');
      await stand.waitFor('shop', 'A', ['A 192.0.2.12']);
      await nsupdate('update delete _http._tcp.shop.example.org SRV');
      await stand.waitFor('_http._tcp.shop', 'SRV', ['SRV 0 100 80 shop.example.org.']);

      await nsupdate(
        'update delete a-shop.example.org TXT',
        'update delete shop.example.org A',
        'update add shop.example.org 60 A 192.0.2.98',
      );
      await until('an Event names the record', async () =>
        (await stand.events('shop')).some((each) => each.startsWith('NotOwned: A shop.example.org exists')),
      );
      assert.deepEqual(await stand.answers('shop'), ['A 192.0.2.98']);
      await nsupdate('update delete shop.example.org A');
      await stand.waitFor('shop', 'A', ['A 192.0.2.12']);
    });

    test('two publishers with one owner agree; one with another owner changes nothing', async () => {
      await using second = await stand.publish();
      await using other = await stand.publish(['--owner-id', 'other', '--health-port', '0']);
      for (const index of [1, 2, 3])
        await stand.kubectl(['apply', '-f', '-'], balanced(`pair-${index}`, { hostname: `pair-${index}.example.org` }));
      for (const index of [1, 2, 3]) await setIngress(stand, `pair-${index}`, `[{"ip":"192.0.2.2${index}"}]`);
      for (const index of [1, 2, 3]) await stand.waitFor(`pair-${index}`, 'A', [`A 192.0.2.2${index}`]);
      for (const index of [1, 2, 3]) await setIngress(stand, `pair-${index}`, `[{"ip":"192.0.2.3${index}"}]`);
      for (const index of [1, 2, 3]) await stand.waitFor(`pair-${index}`, 'A', [`A 192.0.2.3${index}`]);
      const owner = (await stand.answers('a-pair-1', 'TXT')).join();
      assert.match(owner, /owner=(?:default|other),/);
      await second.stop('SIGTERM');
      await other.stop('SIGTERM');
    });

    test('a plan lists rejected names, and the records that it would take over from another owner', async () => {
      await stand.kubectl(['apply', '-f', '-'], balanced('dry', { hostname: 'dry.example.net' }));
      await setIngress(stand, 'dry', '[{"ip":"192.0.2.40"}]');
      const plan = await stand.plan(['--owner-id', 'someone', '--domain-filter', 'idm.example.org', '-o', 'json']);
      const { changes, conflicts } = JSON.parse(plan) as { changes: unknown[]; conflicts: { reason: string }[] };
      assert.deepEqual([changes, conflicts.map(({ reason }) => reason)], [[], ['InvalidHostname']]);
      const migrating = await stand.plan(['--owner-id', 'someone', '--migrate-from-txt-owner', 'default']);
      assert.match(
        migrating,
        /^update +TXT +a-shop\.example\.org +60 +"heritage=external-dns,external-dns\/owner=someone,/m,
      );
      assert.doesNotMatch(migrating, /^\w+ +A /m, 'only owners change');
    });

    test('the rights of its role are sufficient, with leader election too', async () => {
      const elect = ['--leader-elect=true', '--owner-id', 'elected'];
      await using elected = await stand.publish(elect);
      for (const each of [publisher, elected]) {
        const { text } = await askHealth(each, '/metrics');
        assert.match(text, /^rest_client_requests_total\{code="20[01]"/m);
        assert.doesNotMatch(text, /^rest_client_requests_total\{code="40[13]"/m);
        assert.doesNotMatch(each.err, /forbidden/i);
      }
      await elected.stop('SIGTERM');
    });

    test('a wrong clock is one Event and one log line, whatever the difference at each attempt', async () => {
      const ahead = 'const now = Date.now; let drift = 1000_000; Date.now = () => now() + (drift += 7);';
      const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` };
      await stand.kubectl(['apply', '-f', '-'], balanced('clock', { hostname: 'clock.example.org' }));
      await setIngress(stand, 'clock', '[{"ip":"192.0.2.41"}]');
      await using fast = await stand.publish(['--owner-id', 'fast'], { env });
      const attempts = async (): Promise<number> => {
        const { text } = await askHealth(fast, '/metrics');
        return Number(/^external_dns_controller_consecutive_soft_errors (\d+)$/m.exec(text)?.[1]);
      };
      await until('it has tried several times', async () => (await attempts()) > 3);
      const of = (lines: readonly string[]): number =>
        lines.filter((line) => line.includes('BADTIME: its clock is')).length;
      assert.equal(of(await stand.events('clock')), 1);
      assert.equal(of(fast.err.split('\n')), 1, fast.err);
      await fast.stop('SIGTERM');
    });

    test('a restart changes nothing, a dry run neither, and a policy only what it allows', async () => {
      const waitForLog = (of: FairleadProcess, line: RegExp): Promise<boolean> =>
        until(`the log has ${String(line)}`, () => line.test(of.err));
      const ingressOf = (name: string, ip: string): Promise<string> => setIngress(stand, name, `[{"ip":"${ip}"}]`);
      await until('nothing is left to do', async () => /^nothing to change$/m.test(await stand.plan()));
      await publisher.stop('SIGTERM');

      const before = await stand.primary.records();
      const again = await stand.publish();
      await until('it has read the zone', async () =>
        /^external_dns_controller_no_op_runs_total [1-9]/m.test((await askHealth(again, '/metrics')).text),
      );
      assert.deepEqual(await stand.primary.records(), before);
      await again.stop('SIGTERM');

      for (const name of ['kept', 'gone'])
        await stand.kubectl(['apply', '-f', '-'], balanced(name, { hostname: `${name}.example.org` }));
      for (const name of ['kept', 'gone']) await ingressOf(name, '192.0.2.60');
      const dry = await stand.publish(['--dry-run']);
      await waitForLog(dry, /"change":"create \+ 60 A gone\.example\.org 192\.0\.2\.60/);
      assert.deepEqual(await stand.primary.records(), before);
      await dry.stop('SIGTERM');

      const creating = await stand.publish(['--policy', 'create-only']);
      await stand.waitFor('gone', 'A', ['A 192.0.2.60']);
      await ingressOf('kept', '192.0.2.61');
      await stand.kubectl(['apply', '-f', '-'], balanced('more', { hostname: 'more.example.org' }));
      await ingressOf('more', '192.0.2.62');
      await stand.waitFor('more', 'A', ['A 192.0.2.62']);
      assert.deepEqual(await stand.answers('kept'), ['A 192.0.2.60']);
      await creating.stop('SIGTERM');

      const updating = await stand.publish(['--policy', 'upsert-only']);
      await stand.kubectl(['delete', 'service', 'gone']);
      await stand.waitFor('kept', 'A', ['A 192.0.2.61']);
      assert.deepEqual(await stand.answers('gone'), ['A 192.0.2.60']);
      await updating.stop('SIGTERM');

      publisher = await stand.publish();
      await stand.waitFor('gone', 'A', []);
    });

    test('survives a server that is down, and rotated keys', async () => {
      await stand.primary.stop();
      await stand.kubectl(['apply', '-f', '-'], balanced('late', { hostname: 'late.example.org' }));
      await setIngress(stand, 'late', '[{"ip":"192.0.2.50"}]');
      await until('an Event names the server', async () =>
        (await stand.events('late')).some((each) =>
          /^PublishFailed: zone example\.org: DNS server .*ECONNREFUSED/.test(each),
        ),
      );
      await stand.primary.start([nextKey]);
      await until('an Event names the key', async () =>
        (await stand.events('late')).some((each) => each.includes('BADKEY: key "fl-key" is unknown')),
      );
      await stand.useKey(nextKey);
      await stand.waitFor('late', 'A', ['A 192.0.2.50']);
    });
  });
