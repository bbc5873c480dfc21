// `fairlead publisher` as a process, with BIND and Knot.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { run } from '../harness/command.ts';
import { dig } from '../dns/clients.ts';
import { key, nextKey } from './servers.ts';
import type { PublisherStand } from './stand.ts';
import { balanced, setIngress, startStand } from './stand.ts';

const needs = unlessInstalled('named', 'knotd', 'dig', 'nsupdate');

describe('the publisher with BIND', { skip: needs }, () => {
  const stack = new AsyncDisposableStack();
  let stand: PublisherStand;
  before(async () => {
    stand = stack.use(await startStand('BIND'));
    await stand.publish();
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

  test('refused names get one Event each, and other records are unaffected', async () => {
    const names = 'shop.example.org,shop.example.net,bad..example.org,www.example.org,*.wild.example.org';
    await stand.kubectl(['apply', '-f', '-'], balanced('shop', { hostname: names }));
    await setIngress(stand, 'shop', '[{"ip":"192.0.2.11"}]');
    await stand.waitFor('shop', 'A', ['A 192.0.2.11']);
    await stand.waitFor('any.wild', 'A', ['A 192.0.2.11']);
    assert.deepEqual(await stand.answers('www'), ['A 192.0.2.80'], 'it has no owner');
    const wanted = [
      /^HostnameNotInZone: shop\.example\.net is in no zone of this publisher, which are example\.org$/,
      /^InvalidHostname: "bad\.\.example\.org" is not a host name/,
      /^NotOwned: A www\.example\.org exists and has no owner, so it is not changed$/,
    ];
    await until('the Events are there', async () => {
      const events = await stand.events('shop');
      return wanted.every((each) => events.some((event) => each.test(event)));
    });
    assert.equal((await stand.events('shop')).filter((each) => each.startsWith('NotOwned')).length, 1);
    const plan = await stand.plan();
    assert.match(plan, /^nothing to change$/m);
    assert.match(plan, /^NotOwned {2}service\/default\/shop: A www\.example\.org exists and has no owner/m);
  });

  test('what was changed by hand is restored; a name that was taken is not', async () => {
    await nsupdate('update delete shop.example.org A', 'update add shop.example.org 60 A 192.0.2.99');
    await stand.waitFor('shop', 'A', ['A 192.0.2.11']);
    await nsupdate('update delete _http._tcp.shop.example.org SRV');
    await stand.waitFor('_http._tcp.shop', 'SRV', ['SRV 0 100 80 shop.example.org.']);
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

  test('plan, dry run and policies change nothing that they must not', async () => {
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

describe('the publisher with Knot', { skip: needs }, () => {
  test('SRV-10 publishes, updates and deletes; a restart changes nothing', async () => {
    await using stand = await startStand('Knot');
    const first = await stand.publish();
    await stand.kubectl(['apply', '-f', '-'], balanced('shop', { hostname: 'shop.example.org' }));
    await setIngress(stand, 'shop', '[{"hostname":"lb.example.net"}]');
    await stand.waitFor('shop', 'CNAME', ['CNAME lb.example.net.']);
    assert.deepEqual(await stand.answers('_http._tcp.shop', 'SRV'), ['SRV 0 100 80 lb.example.net.']);
    await setIngress(stand, 'shop', '[{"ip":"192.0.2.1"}]');
    await stand.waitFor('shop', 'A', ['A 192.0.2.1']);
    await stand.waitFor('_http._tcp.shop', 'SRV', ['SRV 0 100 80 shop.example.org.']);
    await first.stop('SIGTERM');
    const serial = await stand.primary.zoneFile();
    await stand.publish();
    assert.match(await stand.plan(), /^nothing to change$/m);
    assert.equal(await stand.primary.zoneFile(), serial);
    await stand.kubectl(['delete', 'service', 'shop']);
    await until(
      'the name is gone',
      async () => (await dig(stand.primary.place, 'shop.example.org')).status === 'NXDOMAIN',
    );
  });
});
