// A cluster that opens the connection to the hub itself, used with kubectl and with the parts through the hub's proxy.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';

import { run, start } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { root } from '../harness/process.ts';

const fairlead = [join(root, 'bin', 'fairlead.js')];

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { server: string; 'proxy-url'?: string; 'tls-server-name'?: string };
  }[];
}

test('kubectl and the commands of Fairlead use a cluster through its tunnel, also after hub or tunnel were killed', async () => {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory()).path;
  const [kubectl] = await findKubectls();
  const pki = join(directory, 'pki');
  const made = await run(process.execPath, [
    ...fairlead,
    'tunnel',
    'certificates',
    pki,
    '--hub',
    '127.0.0.1',
    '--cluster',
    'east',
  ]);
  assert.deepEqual([made.code, made.err], [0, '']);
  const files = (name: string): readonly string[] => [
    `--tls-cert-file=${pki}/${name}.crt`,
    `--tls-private-key-file=${pki}/${name}.key`,
    `--ca-file=${pki}/ca.crt`,
  ];
  const east = stack.use(
    await startFairlead(join(directory, 'east'), ['server', '--cluster', 'east', '--store', 'memory']),
  );
  const config = load(await readFile(east.kubeconfig, 'utf8')) as Kubeconfig; // written by this program
  const [{ cluster } = { cluster: { server: '' } }] = config.clusters;
  const server = new URL(cluster.server).host;

  const serve = (listen: string, proxy: string) =>
    stack.use(
      start(
        process.execPath,
        [...fairlead, 'tunnel', 'serve', '--listen', listen, '--proxy-listen', proxy, ...files('hub')],
        { timeoutMs: 300_000 },
      ),
    );
  const hub = serve('127.0.0.1:0', '127.0.0.1:0');
  await hub.prints(/proxy-url http/);
  const [, place = '', proxyUrl = ''] = /^hub (\S+)\nproxy-url (\S+)/.exec(hub.printed) ?? [];
  const connect = () =>
    stack.use(
      start(process.execPath, [...fairlead, 'tunnel', 'connect', place, '--server', server, ...files('east')], {
        timeoutMs: 300_000,
      }),
    );
  const tunnel = connect();

  Object.assign(cluster, { server: 'https://east', 'proxy-url': proxyUrl, 'tls-server-name': 'localhost' });
  const kubeconfig = join(directory, 'through-the-tunnel.kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const call = (...args: readonly string[]) => run(kubectl?.path ?? '', ['--kubeconfig', kubeconfig, ...args]);
  /** Retries while the tunnel is opened. */
  const succeeds = async (...args: readonly string[]): Promise<string> => {
    for (const end = performance.now() + 60_000; ;) {
      const { code, out, err } = await call(...args);
      if (code === 0) return out;
      assert.ok(performance.now() < end, err);
    }
  };
  assert.equal(await succeeds('create', 'configmap', 'a'), 'configmap/a created\n');
  assert.equal(await succeeds('get', 'configmap', 'a', '-o', 'name'), 'configmap/a\n');
  const status = await run(process.execPath, [...fairlead, 'status', '--kubeconfig', kubeconfig]);
  assert.match(status.out, /east/, status.err);

  const watch = stack.use(
    start(kubectl?.path ?? '', ['--kubeconfig', kubeconfig, 'get', 'configmaps', '--watch', '-o', 'name'], {
      timeoutMs: 300_000,
    }),
  );
  await watch.prints(/configmap\/a\n/);
  await succeeds('create', 'configmap', 'b');
  await watch.prints(/configmap\/b\n/);

  process.kill(tunnel.pid, 'SIGKILL');
  connect();
  assert.equal(await succeeds('create', 'configmap', 'c'), 'configmap/c created\n');

  process.kill(hub.pid, 'SIGKILL');
  await hub.ended.catch(() => undefined);
  serve(place, new URL(proxyUrl).host);
  assert.equal(await succeeds('create', 'configmap', 'd'), 'configmap/d created\n');
});

test('a tunnel names what is missing', async () => {
  const serve = await run(process.execPath, [...fairlead, 'tunnel', 'serve']);
  assert.deepEqual(
    [serve.code, serve.err],
    [2, 'fairlead: --tls-cert-file is missing: `fairlead tunnel certificates` writes the files\n'],
  );
  const open = await run(process.execPath, [...fairlead, 'tunnel', 'serve', '--proxy-listen', '0.0.0.0:9444']);
  assert.equal(open.code, 2);
  assert.match(open.err, /--proxy-listen must be a loopback address/);
  const connect = await run(process.execPath, [...fairlead, 'tunnel', 'connect', 'hub']);
  assert.equal(connect.code, 2);
  assert.match(connect.err, /expected a name or an address, and a port/);
});
