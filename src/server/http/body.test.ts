import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';

import { isStatusError } from '../../api/errors.ts';
import { readBody } from './body.ts';

function incoming(headers: Record<string, string> = {}): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  Object.assign(message.headers, headers);
  return message;
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'read',
    (error: unknown) => (isStatusError(error) ? error.status.code : error),
  );

test('reads a body up to the limit', async () => {
  const message = incoming();
  const body = readBody(message, 6);
  message.push('abc');
  message.push('def');
  message.push(null);
  assert.equal((await body).toString(), 'abcdef');
});

test('rejects a body beyond the limit with a 413, with and without a Content-Length', async () => {
  const message = incoming();
  const body = codeOf(readBody(message, 6));
  message.push('abcdefg');
  assert.equal(await body, 413);
  assert.equal(await codeOf(readBody(incoming({ 'content-length': '7' }), 6)), 413);
});

test('rejects a body that does not arrive with a 504', async () => {
  const message = incoming();
  const body = codeOf(readBody(message, 6, 5));
  message.push('abc');
  assert.equal(await body, 504);
});
