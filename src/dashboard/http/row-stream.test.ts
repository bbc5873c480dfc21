import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { until } from '../../server/testing/until.ts';
import type { Delta } from '../view/rows.ts';
import type { RowStreamOptions } from './row-stream.ts';
import { deltaText, RowStream } from './row-stream.ts';

/** A stream with a client that reads, or does not. */
async function connected(options: Pick<RowStreamOptions, 'rows'> & Partial<RowStreamOptions>) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const opened = Promise.withResolvers<RowStream>();
  let isClosed = false;
  let slow = 0;
  server.once('request', (_request, response) => {
    const stream = new RowStream({
      response,
      isFiltered: false,
      onSent: () => undefined,
      onSlow: () => slow++,
      onClosed: () => (isClosed = true),
      ...options,
    });
    opened.resolve(stream);
  });
  const { port } = server.address() as AddressInfo; // it listens on a port
  const request = get({ host: '127.0.0.1', port });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.setEncoding('utf8').on('error', () => undefined);
  let text = '';
  return {
    stream: await opened.promise,
    response,
    read: () => void response.on('data', (chunk: string) => (text += chunk)),
    messages: () => Array.from(text.matchAll(/^data: (.*)\n\n/gm), ([, json = '']) => JSON.parse(json) as Delta),
    isClosed: () => isClosed,
    slowCount: () => slow,
    async [Symbol.asyncDispose]() {
      request.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Rows whose ids are numbers, with a revision. */
function numbered(count: number, padding = '') {
  const revisions = new Map(Array.from({ length: count }, (_, index) => [String(index), 0]));
  return {
    revisions,
    rows: {
      ids: () => revisions.keys(),
      text: (id: string) => {
        const revision = revisions.get(id);
        return revision === undefined ? undefined : JSON.stringify({ id, revision, padding });
      },
    },
  };
}

const setIn = (messages: readonly Delta[]): Map<string, number> => {
  const found = new Map<string, number>();
  for (const { set = [], gone = [] } of messages) {
    for (const { id, revision } of set as unknown as { id: string; revision: number }[]) found.set(id, revision); // as above
    for (const id of gone) found.delete(id);
  }
  return found;
};

test('sends all rows in bounded messages, and then changes', async () => {
  const { rows, revisions } = numbered(1000);
  await using client = await connected({ rows });
  client.read();
  await until('all rows have arrived', () => client.messages().some(({ isComplete }) => isComplete === true));
  assert.equal(client.messages()[0]?.isReset, true);
  assert.ok(client.messages().every(({ set = [] }) => set.length <= 250));
  assert.equal(setIn(client.messages()).size, 1000);
  revisions.set('7', 1);
  client.stream.changed(['7'], [], deltaText([rows.text('7') ?? '']));
  await until('the change has arrived', () => setIn(client.messages()).get('7') === 1);
});

test('a client that does not read costs no messages, and receives the rows as they are when it reads', async () => {
  const { rows, revisions } = numbered(2000, 'x'.repeat(10_000));
  await using client = await connected({ rows });
  await until('the client is behind', () => client.slowCount() > 0);
  let computed = 0;
  for (let revision = 1; revision <= 1000; revision++) {
    revisions.set('3', revision);
    computed++;
    client.stream.changed(['3'], [], deltaText([rows.text('3') ?? '']));
  }
  revisions.delete('4');
  client.stream.changed(['4'], [], deltaText([], ['4']));
  client.read();
  await until('all has arrived', () => client.messages().some(({ isComplete }) => isComplete === true));
  const seen = client.messages().flatMap(({ set = [] }) => set.filter(({ id }) => id === '3'));
  assert.ok(computed === 1000 && seen.length <= 2, `${seen.length} messages for a client that was behind`);
  assert.equal(setIn(client.messages()).get('3'), 1000);
  assert.equal(setIn(client.messages()).has('4'), false);
});

test('a filtered stream never names rows that were not visible', async () => {
  const { rows, revisions } = numbered(3);
  await using client = await connected({ rows, isFiltered: true });
  client.read();
  await until('all rows have arrived', () => client.messages().some(({ isComplete }) => isComplete === true));
  revisions.delete('1');
  client.stream.changed(['1', 'secret'], []);
  await until('the removal has arrived', () => client.messages().some(({ gone }) => gone !== undefined));
  assert.deepEqual(
    client.messages().flatMap(({ gone = [] }) => gone),
    ['1'],
  );
});

test('an ended stream gives its reason, and closes', async () => {
  const { rows } = numbered(1);
  await using client = await connected({ rows });
  client.read();
  client.stream.end('replaced');
  await until('the reason has arrived', () => JSON.stringify(client.messages().at(-1)) === '{"reason":"replaced"}');
  await until('the stream is closed', client.isClosed);
});
