// Zone transfers: dig by AXFR and IXFR, and a BIND secondary with NOTIFY.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import { run } from '../harness/command.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { startBind } from './bind.ts';
import { dig } from './clients.ts';
import type { StandAlone } from './stands.ts';
import { applyFile, startAlone } from './stands.ts';

const svc = 'svc.cluster.local';

/** The records of a transfer by dig, without TTLs. */
async function transfer({ dns }: StandAlone, what: string): Promise<readonly string[]> {
  const args = [`@${dns.address}`, '-p', String(dns.port), '+onesoa', '+noall', '+answer', '+time=5', 'cluster.local'];
  const { out } = await run('dig', [...args, what]);
  return out
    .split('\n')
    .filter((line) => /^[^;\s]/.test(line))
    .map((line) => line.replace(/\s+\d+\s+IN\s+/, ' ').replaceAll(/\s+/g, ' '));
}

const serialOf = async (stand: Pick<StandAlone, 'dns'>): Promise<number> =>
  Number((await dig(stand.dns, 'cluster.local', 'SOA')).answer[0]?.split(' ')[3]);

describe('secondaries', { skip: unlessInstalled('dig', 'named') }, () => {
  const stack = new AsyncDisposableStack();
  let stand: StandAlone;
  let bindPort = 0;
  before(async () => {
    bindPort = await freePort();
    stand = stack.use(await startAlone(['--transfer-to', '127.0.0.1/32', '--notify', `127.0.0.1:${bindPort}`]));
    await applyFile(stand, 'catalogue.yaml');
  });
  after(() => stack.disposeAsync());

  test('AXFR contains every record that queries return', async () => {
    const records = await transfer(stand, 'AXFR');
    assert.match(records[0] ?? '', /^cluster\.local\. SOA /);
    for (const record of [
      `web.shop.${svc}. A 10.96.1.1`,
      `web.shop.${svc}. AAAA fd00:96::1:1`,
      `_kerberos._udp.idm.shop.${svc}. SRV 0 100 88 idm.shop.${svc}.`,
      `db-0.db.shop.${svc}. A 10.1.0.1`,
      `inside.shop.${svc}. CNAME web.shop.${svc}.`,
      'dns-version.cluster.local. TXT "1.1.0"',
    ]) {
      assert.ok(records.includes(record), `${record} is missing of ${records.length}`);
    }
    assert.ok(!records.some((record) => record.includes('clusterset')));
  });

  test('IXFR contains the changes since a serial, and the serial increases with every change', async () => {
    const before = await serialOf(stand);
    await stand.kubectl(['create', 'service', 'clusterip', 'later', '--tcp=80', '--clusterip=10.96.2.1', '-n', 'shop']);
    await until('a greater serial', async () => (await serialOf(stand)) > before);
    const records = await transfer(stand, `IXFR=${before}`);
    assert.ok(records.includes(`later.shop.${svc}. A 10.96.2.1`), records.join('\n'));
    assert.ok(records.length < 15, `${records.length} records`);
  });

  test('a BIND secondary is updated at once by NOTIFY', async () => {
    const { address, port } = stand.dns;
    await using bind = await startBind({
      port: bindPort,
      probe: 'cluster.local',
      zones: `zone "cluster.local" { type secondary; primaries { ${address} port ${port}; }; file "copy"; masterfile-format text; };`,
    });
    const askBind = async (name: string): Promise<readonly string[]> => (await dig(bind.place, name)).answer;
    assert.deepEqual(await askBind(`web.shop.${svc}`), ['A 10.96.1.1']);
    assert.deepEqual((await dig(bind.place, `_kerberos._tcp.idm.shop.${svc}`, 'SRV')).answer, [
      `SRV 0 100 88 idm.shop.${svc}.`,
    ]);
    await stand.kubectl(['create', 'service', 'clusterip', 'new', '--tcp=80', '--clusterip=10.96.2.2', '-n', 'shop']);
    await until(
      'BIND serves the new record',
      async () => (await askBind(`new.shop.${svc}`))[0] === 'A 10.96.2.2',
      15_000,
    );
    await stand.kubectl(['delete', 'service', 'new', '-n', 'shop']);
    await until(
      'BIND has deleted the record',
      async () => (await dig(bind.place, `new.shop.${svc}`)).status === 'NXDOMAIN',
      15_000,
    );
    assert.match(bind.log(), /received notify for zone 'cluster\.local'/);
    assert.match(bind.log(), /Transfer completed: 1 messages, 7 records/, 'only the changes were transferred');
  });

  test('other clients cannot transfer', async () => {
    const { dns } = stand;
    const { out } = await run('dig', [
      `@${dns.address}`,
      '-p',
      String(dns.port),
      '-b',
      '127.0.0.2',
      'cluster.local',
      'AXFR',
    ]);
    assert.match(out, /Transfer failed/);
  });
});
