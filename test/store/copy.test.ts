// Clusters that move between SQLite and etcd through the command line, and what happens when a move fails.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { TestEtcd } from '../../src/store/etcd/testing/etcd.ts';
import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { WatchEvent } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { FairleadProcess } from '../harness/process.ts';
import { credentialsIn } from '../harness/server.ts';
import { callEtcd } from '../etcd/gateway.ts';
import { launcher, mustRun, store, writeLarge } from './backups.ts';

const services = '/api/v1/namespaces/default/services';
const maps = '/api/v1/namespaces/default/configmaps';

describe('a cluster that moves', { skip: unlessInstalled('etcd') }, () => {
  const stack = new AsyncDisposableStack();
  let etcd: TestEtcd;
  let url = '';
  let folder = '';
  before(async () => {
    etcd = stack.use(await startEtcd({ isDurable: false }));
    [url = ''] = etcd.urls;
    folder = stack.use(await temporaryDirectory()).path;
  });
  after(() => stack.disposeAsync());

  const inEtcd = (prefix: string): readonly string[] => [
    '--store',
    'etcd',
    '--etcd-servers',
    url,
    '--etcd-prefix',
    prefix,
  ];
  const connect = async ({ directory, process }: Fairlead): Promise<Connection> => {
    const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(process.out)?.[1];
    return new Connection(Number(port), await credentialsIn(directory, 'fairlead'));
  };
  /** The error of a server that must not start. */
  const refused = async (directory: string, prefix: string): Promise<string> => {
    const args = ['server', '--data-dir', directory, '--secure-port', '0', ...inEtcd(prefix)];
    await using server = new FairleadProcess(args);
    assert.equal(await server.ended(), 1);
    return server.err;
  };

  it('keeps its objects, claims and certificates, and clients list again', async () => {
    const [data, back] = [join(folder, 'data'), join(folder, 'back')];
    let address = '';
    let last = 0;
    {
      await using server = await startFairlead(data, ['server']);
      using connection = await connect(server);
      const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30123 }] };
      const { body } = await connection.ask('POST', services, { metadata: { name: 'web' }, spec });
      address = body.spec.clusterIP;
      last = Number(body.metadata.resourceVersion);
      const running = await store(['copy', '--from', `sqlite:${data}`, '--to', `etcd:${url}/moved`]);
      assert.match(
        running.err,
        /^fairlead: data directory \S+ is in use by process \d+: stop it or pass --data-dir\n$/,
      );
    }
    const { err } = await mustRun('copy', '--from', `sqlite:${data}`, '--to', `etcd:${url}/moved`);
    assert.match(
      err,
      /^etcd:http\S+\/moved: \d+ records of cluster "fairlead", which were at revision \d+, are at rev/,
    );
    {
      // The same certificates: its kubeconfigs stay valid.
      await using server = await startFairlead(data, ['server', ...inEtcd('/moved')]);
      using connection = await connect(server);
      const { body } = await connection.ask('GET', `${services}/web`);
      assert.equal(body.spec.clusterIP, address);
      assert.ok(Number(body.metadata.resourceVersion) > last);
      const events: WatchEvent[] = [];
      await connection.watch(`${services}?watch=1&resourceVersion=${last}`, (event) => events.push(event)).ended;
      assert.deepEqual(
        events.map(({ object }) => object['code']),
        [410],
      );
      for (const spec of [
        { clusterIP: address, ports: [{ port: 80 }] },
        { type: 'NodePort', ports: [{ port: 80, nodePort: 30123 }] },
      ]) {
        const thief = await connection.ask('POST', services, { metadata: { name: 'thief' }, spec });
        assert.match(thief.body.message, /provided (?:IP|port) is already allocated/);
      }
      const later = await connection.ask('POST', maps, { metadata: { name: 'later' } });
      last = Number(later.body.metadata.resourceVersion);
      const used = await store(['copy', '--from', `etcd:${url}/moved`, '--to', `sqlite:${back}`]);
      assert.deepEqual([used.code, used.out], [1, '']);
      assert.match(
        used.err,
        /^fairlead: etcd:\S+\/moved is used by 127\.0\.0\.1:\d+: stop these servers, so that no write/,
      );
    }
    await mustRun('copy', '--from', `etcd:${url}/moved`, '--to', `sqlite:${back}`);
    const { err: checked } = await mustRun('check', '--from', `sqlite:${back}`);
    assert.match(checked, /store\.db: \d+ records of cluster "fairlead" at revision \d+: 0 problems\n$/);
    await using server = await startFairlead(back, ['server']);
    using connection = await connect(server);
    const { body } = await connection.ask('GET', `${maps}/later`);
    assert.ok(Number(body.metadata.resourceVersion) > last);
    assert.equal((await connection.ask('GET', `${services}/web`)).body.spec.clusterIP, address);
    const { body: endpoints } = await connection.ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
    assert.equal(endpoints.subsets[0].addresses.length, 1, 'servers of the other store are not copied');
  });

  it('is replaced by a backup while its servers run, and the state before is kept in a file', async () => {
    const data = join(folder, 'restored');
    const file = join(folder, 'x.backup');
    await using server = await startFairlead(data, ['server', ...inEtcd('/restored')]);
    using connection = await connect(server);
    await connection.ask('POST', maps, { metadata: { name: 'before' } });
    await mustRun('backup', file, '--data-dir', data);
    await connection.ask('POST', maps, { metadata: { name: 'after' } });
    const target = ['--to', `etcd:${url}/restored`];
    const existing = await store(['restore', file, ...target]);
    assert.match(
      existing.err,
      /has the state of cluster "fairlead": pass --overwrite to replace it, or use another pre/,
    );
    await mustRun('check', '--data-dir', data);
    const { code, err } = await store(['restore', file, ...target, '--overwrite'], { cwd: folder });
    assert.equal(code, 0, err);
    const kept = /^the previous store is (fairlead-\d+\.backup)$/m.exec(err)?.[1] ?? '';
    assert.match(readFileSync(join(folder, kept), 'utf8'), /"\/registry\/configmaps\/default\/after"/);
    await until('the server has the state of the backup', async () => {
      const { status } = await connection.ask('GET', `${maps}/after`);
      return status === 404 && (await connection.ask('GET', `${maps}/before`)).status === 200;
    });
    assert.equal((await connection.ask('POST', maps, { metadata: { name: 'after' } })).status, 201);
  });

  it('is not served before the copy is complete, and the copy can be repeated after a kill', async () => {
    const file = join(folder, 'large.backup');
    const data = join(folder, 'killed');
    writeLarge(file, 20_000);
    await mustRun('restore', file, '--data-dir', data);
    const copy = ['copy', '--from', `sqlite:${data}`, '--to', `etcd:${url}/killed`];
    {
      using copying = spawn(process.execPath, [launcher, 'store', ...copy], { stdio: 'ignore' });
      await until('some objects are copied', async () => {
        const key = Buffer.from('/killed/configmaps/').toString('base64');
        const end = Buffer.from('/killed/configmaps0').toString('base64');
        const { count } = await callEtcd(url, 'kv/range', { key, range_end: end, count_only: true });
        return Number(count ?? 0) > 0;
      });
      copying.kill('SIGKILL');
      await once(copying, 'close');
    }
    assert.match(
      await refused(data, '/killed'),
      /the etcd prefix \/killed has an incomplete restore: repeat `fairlead/,
    );
    const source = await store(['backup', join(folder, 'y.backup'), '--from', `etcd:${url}/killed`]);
    assert.match(source.err, /has an incomplete restore/);
    await mustRun(...copy);
    const again = join(folder, 'again.backup');
    await mustRun('backup', again, '--from', `etcd:${url}/killed`);
    const values = (name: string): unknown =>
      readFileSync(name, 'utf8')
        .split('\n')
        .slice(1, -2)
        .map((line) => {
          const [key, , , value] = JSON.parse(line) as readonly unknown[];
          return [key, value];
        });
    assert.deepEqual(values(again), values(file));
  });

  it('is not copied when the source is damaged or missing, or the target belongs to another cluster', async () => {
    const file = join(folder, 'damaged.backup');
    writeLarge(file, 50);
    writeFileSync(file, readFileSync(file, 'utf8').replace('uid-7', 'uid-8'));
    const put = (key: string): Promise<unknown> =>
      callEtcd(url, 'kv/put', { key: Buffer.from(key).toString('base64'), value: 'e30=' });
    await put('/foreign/pods/default/a');
    const whole = join(folder, 'whole.backup');
    writeLarge(whole, 5);
    await mustRun('restore', whole, '--data-dir', join(folder, 'whole'));
    const west = join(folder, 'west.backup');
    writeFileSync(west, readFileSync(whole, 'utf8').replace('"cluster":"fairlead"', '"cluster":"west"'));
    const cases: readonly (readonly [args: string, code: number, want: RegExp])[] = [
      [
        `restore ${file} --to etcd:${url}/new`,
        1,
        /damaged\.backup is damaged, its checksum is wrong: use another backup/,
      ],
      [
        `restore ${whole} --to etcd:${url}/foreign`,
        1,
        /prefix \/foreign has keys of another program, such as \/foreign\/pods/,
      ],
      [
        `backup ${folder}/n --from etcd:${url}/nothing`,
        1,
        /the etcd prefix \/nothing is empty: pass the prefix of a cluster/,
      ],
      [`backup ${folder}/n --from etcd:${url}/foreign`, 2, /has no owner, as under a kube-apiserver: pass --cluster/],
      [`backup ${folder}/n --from sqlite:${folder}/none`, 2, /none has no stores/],
      [`copy --from sqlite:${folder}/whole`, 2, /--to is required: sqlite:DIR, or etcd:URL,\.\.\. as in/],
      [
        `copy --from postgres:x --to sqlite:${folder}/z`,
        2,
        /"postgres:x" for "--from" flag: expected sqlite:DIR or etcd:/,
      ],
      [`copy --from etcd:localhost --to sqlite:${folder}/z`, 2, /expected URLs such as https:\/\/10\.0\.0\.1:2379/],
      [`copy --from sqlite:${folder}/whole --to etcd:${url}/new --etcd-cafile ca.crt`, 2, /need members with https:/],
      [
        `copy --from sqlite:${folder}/whole --to etcd:http://127.0.0.1:1 --etcd-timeout 0s`,
        1,
        /cannot use etcd http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/,
      ],
    ];
    for (const [args, code, want] of cases) {
      const result = await store(args.split(' '));
      assert.deepEqual([result.code, want.test(result.err), result.out], [code, true, ''], result.err);
      assert.equal(result.err.trim().split('\n').length, 1, result.err);
    }
    const checked = await store(['check', whole]);
    assert.equal(checked.code, 1);
    assert.equal(checked.out, '/registry/configmaps/default/map-000004: namespace "default" does not exist\n');
    assert.match(checked.err, /^\S+whole\.backup: 5 records of cluster "fairlead" at revision 7: 1 problem\n$/);
    const key = Buffer.from('/new').toString('base64');
    const end = Buffer.from('/new0').toString('base64');
    assert.equal((await callEtcd(url, 'kv/range', { key, range_end: end }))['kvs'], undefined, 'nothing is written');
    assert.ok(!existsSync(join(folder, 'z', 'clusters')));
  });

  it('reports the fix when etcd has no space', async () => {
    const file = join(folder, 'big.backup');
    writeLarge(file, 100, 1_000_000); // etcd measures its size every 100 ms
    await using small = await startEtcd({ flags: ['--quota-backend-bytes', `${8 << 20}`], isDurable: false });
    const to = small.urls[0] ?? '';
    const { code, err } = await store(['restore', file, '--to', `etcd:${to}`]);
    assert.equal(code, 1);
    assert.match(
      err,
      /^fairlead: etcdserver: mvcc: database space exceeded: etcd has the alarm NOSPACE: delete objects/,
    );
  });
});
