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

const portPatch = (port: number): string =>
  JSON.stringify([{ op: 'replace', path: '/spec/ports/0/targetPort', value: port }]);

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

  test('run prints the output of a command that fails, and names the cause if its port is in use', async () => {
    const other = createServer().listen(9999, '127.0.0.1').unref();
    await once(other, 'listening');
    const flags = ['run', '--kubeconfig', stand.kubeconfig, '--context', 'east', '--service', 'no', '--port', '9999'];
    const script = `require('net').createServer().listen(9999, '0.0.0.0')`;
    await using failing = new FairleadProcess([...flags, '--', process.execPath, '-e', script]);
    assert.equal(await failing.ended(), 1);
    assert.match(failing.out, /EADDRINUSE/);
    assert.match(
      failing.err,
      /port 9999 is in use at an address of this machine, .*: let the command listen at \$POD_IP/,
    );
    other.close();
    assert.match(await stand.kubectl('get', 'service', 'no').then(({ err }) => err), /not found/);
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
    await stand.must('patch', 'service', 'db', '--type=json', '-p', portPatch(5433));
    await until('the other port is reported', async () => {
      const pods = await stand.must('get', 'pods', '-o', 'jsonpath={.items[*].status.conditions[*].message}');
      return pods.includes('the process has port 5432, and Service "default/db" connects to 5433');
    });
    await stand.must('patch', 'service', 'db', '--type=json', '-p', portPatch(5432));
    await until('the endpoint is ready again', async () => (await readyOf('db')) === '127.192.200.1');
    server.close();
    await until('the endpoint is not ready', async () => (await readyOf('db')) === '');
    const [file = ''] = await readdir(join(stand.state, 'registrations'));
    await rm(join(stand.state, 'registrations', file));
    await until('its Pod is deleted', async () => (await stand.must('get', 'pods', '-o', 'name')) === '');
  });
});
