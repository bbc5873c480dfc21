// Processes behind Services without a manifest: `fairlead run` and `fairlead agent register`.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { Stand } from './stand.ts';

describe('endpoints', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start();
  });
  after(() => stand[Symbol.asyncDispose]());

  /** The ready addresses of a Service. */
  const readyOf = async (service: string): Promise<string> => {
    const out = await stand.must('get', 'endpointslices', '-l', `kubernetes.io/service-name=${service}`, '-o', 'json');
    const { items } = JSON.parse(out) as {
      items: { endpoints?: { addresses: string[]; conditions: { ready?: boolean } }[] | null }[];
    };
    const endpoints = items.flatMap((slice) => slice.endpoints ?? []);
    return endpoints.flatMap(({ addresses, conditions }) => (conditions.ready === true ? addresses : [])).join(' ');
  };

  test('run puts a process behind a new Service until Ctrl-C, and removes it', async () => {
    const script = `require('http').createServer((q, r) => r.end('here')).listen(8080, process.env.POD_IP)`;
    const flags = ['run', '--kubeconfig', stand.kubeconfig, '--context', 'east', '--service', 'web', '--port', '8080'];
    await using process_ = new FairleadProcess([
      ...flags,
      '--',
      process.execPath,
      '-e',
      `${script}; console.log('from the process')`,
    ]);
    const address = await until('an endpoint is ready', async () => (await readyOf('web')) || undefined);
    assert.equal(await (await fetch(`http://${address}:8080/`)).text(), 'here');
    await process_.prints(/from the process/);
    await process_.stop('SIGTERM');
    assert.equal(await readyOf('web'), '');
    assert.equal(await stand.must('get', 'pods', '-o', 'name'), '');
    assert.doesNotMatch(await stand.must('get', 'nodes', '-o', 'name'), /run-/);
    await stand.must('get', 'service', 'web');
  });

  test('run exits with the code of its command, and reports one that does not exist', async () => {
    const flags = ['run', '--kubeconfig', stand.kubeconfig, '--context', 'east', '--service', 'web', '--port', '8080'];
    await using failing = new FairleadProcess([...flags, '--', 'sh', '-c', 'exit 7']);
    assert.equal(await failing.ended(), 7);
    await using missing = new FairleadProcess([...flags, '--', 'no-such-program']);
    assert.equal(await missing.ended(), 1);
    assert.match(missing.err, /exec: "no-such-program": executable file not found in \$PATH/);
    assert.equal(await stand.must('get', 'pods', '-o', 'name'), '', 'its Pods are removed');
  });

  test('register puts a process that runs already behind a Service, while its check succeeds', async () => {
    const server = createServer((socket) => socket.destroy());
    server.listen(5432, '127.192.200.1').unref();
    await once(server, 'listening');
    await stand.must('create', 'service', 'clusterip', 'db', '--tcp=5432');
    const flags = ['--service', 'db', '--address', '127.192.200.1', '--port', '5432', '--root-dir', stand.state];
    const { code, err } = await run(process.execPath, [
      join(root, 'bin', 'fairlead.js'),
      'agent',
      'register',
      ...flags,
    ]);
    assert.equal(code, 0, err);
    await until('the endpoint is ready', async () => (await readyOf('db')) === '127.192.200.1');
    server.close();
    await until('the endpoint is not ready', async () => (await readyOf('db')) === '');
    const [file = ''] = await readdir(join(stand.state, 'registrations'));
    await rm(join(stand.state, 'registrations', file));
    await until('its Pod is deleted', async () => (await stand.must('get', 'pods', '-o', 'name')) === '');
  });
});
