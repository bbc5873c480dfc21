import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { Connection } from '../harness/connection.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { root } from '../harness/process.ts';
import { credentialsIn } from '../harness/server.ts';

/** Reads a metric from the API, which proves that the server answers. */
async function droppedLines({ directory, kubeconfig }: Fairlead): Promise<number> {
  const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1];
  using connection = new Connection(Number(port), await credentialsIn(directory, 'fairlead'));
  const { status, body } = await connection.ask('GET', '/metrics');
  assert.equal(status, 200);
  return Number(/^fairlead_log_dropped_lines_total (\d+)$/m.exec(String(body))?.[1]);
}

/** A named pipe, open for reading until it is disposed of. */
async function namedPipe(path: string): Promise<{ readonly fd: number } & Disposable> {
  assert.equal((await run('mkfifo', [path])).code, 0);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

/** Writes until a pipe is full. */
function fill(path: string): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    for (const bytes of [Buffer.alloc(4096, '.'), Buffer.alloc(1, '.')]) {
      try {
        for (;;) writeSync(fd, bytes);
      } catch (error) {
        assert.match(String(error), /EAGAIN/);
      }
    }
  } finally {
    closeSync(fd);
  }
}

// The first start logs the creation of certificates at this level.
const command = ['server', '--log-level', 'info'];

test('serves after the readers of stdout and stderr have closed them', async () => {
  await using data = await temporaryDirectory();
  const within = ['bash', '-c', 'exec "$@" > >(exec head -1) 2> >(exec true)', 'fairlead'];
  await using fairlead = await startFairlead(data.path, command, { within });
  for (let scrape = 0; scrape < 10; scrape++) await droppedLines(fairlead);
  await fairlead.stop();
});

test('counts the lines that a closed pipe does not accept', async () => {
  await using data = await temporaryDirectory();
  const path = join(data.path, 'log');
  {
    using _reader = await namedPipe(path);
  }
  // Opened for reading and writing, so that the shell does not wait for a reader, which is closed when the server starts.
  const within = ['bash', '-c', 'exec 3<>"$0"; exec "$@" 2>"$0" 3<&-', path];
  await using fairlead = await startFairlead(join(data.path, 'data'), command, { within });
  assert.ok((await droppedLines(fairlead)) > 0);
  await fairlead.stop();
});

test('serves and stops although its full log pipe is not read', async () => {
  await using data = await temporaryDirectory();
  const path = join(data.path, 'log');
  using _reader = await namedPipe(path);
  fill(path);
  const within = ['bash', '-c', 'exec "$@" 2>"$0"', path];
  await using fairlead = await startFairlead(join(data.path, 'data'), command, { within });
  assert.equal(await droppedLines(fairlead), 0);
  await fairlead.stop();
});

test('serves and stops although its full log socket, like that of journald, is not read', async () => {
  await using data = await temporaryDirectory();
  const directory = join(data.path, 'data');
  const reader = createServer({ pauseOnConnect: true }).listen(join(data.path, 'socket'));
  await once(reader, 'listening');
  const log = connect(join(data.path, 'socket'));
  await once(log, 'connect');
  while (log.writableLength < 1 << 20) log.write(Buffer.alloc(65_536, '.'));
  const args = ['server', '--log-level', 'info', '--secure-port', '0', '--data-dir', directory];
  const child = spawn(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args], {
    stdio: ['ignore', 'ignore', log],
  });
  try {
    await until('up is ready', () => existsSync(join(directory, 'state.json')));
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  } finally {
    child.kill('SIGKILL');
    log.destroy();
    reader.close();
  }
});

test('stops although its stdout is not read', async () => {
  await using data = await temporaryDirectory();
  const path = join(data.path, 'out');
  using _reader = await namedPipe(path);
  fill(path);
  const directory = join(data.path, 'data');
  const isReady = `[ -e "${directory}/state.json" ]`;
  const script = `"$@" >"$0" & until ${isReady}; do sleep 0.1; done; kill -TERM $!; wait $!`;
  const fairlead = [process.execPath, join(root, 'bin', 'fairlead.js'), 'server', '--secure-port', '0'];
  const { code, err } = await run('bash', ['-c', script, path, ...fairlead, '--data-dir', directory]);
  assert.equal(code, 0, err);
});
