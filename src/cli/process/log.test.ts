import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogDeduplicator } from './log-deduplicator.ts';
import { LogOutput } from './log-output.ts';
import type { LogOptions } from './log.ts';
import { openLog } from './log.ts';
import { printLogLine } from './log-text.ts';

const line = (level: number, fields: object): string =>
  `${JSON.stringify({ level, time: '2026-11-18T10:11:12.345Z', ...fields })}\n`;

const texts: readonly (readonly [fields: object, want: string])[] = [
  [{ msg: 'ready' }, '10:11:12.345 WARN  ready\n'],
  [
    { cluster: 'east', waitMs: 5, msg: 'watch failed, retrying' },
    '10:11:12.345 WARN  watch failed, retrying cluster=east waitMs=5\n',
  ],
  [{ why: 'no answer', list: ['a'], msg: 'x' }, '10:11:12.345 WARN  x why="no answer" list=["a"]\n'],
  [{ err: { type: 'Error', message: 'gone' }, msg: 'x' }, '10:11:12.345 WARN  x err=gone\n'],
  [
    { err: { message: 'gone', stack: 'Error: gone\n  at f' }, msg: 'gone' },
    '10:11:12.345 WARN  gone\n    Error: gone\n      at f\n',
  ],
];
for (const [fields, want] of texts) {
  test(`prints ${JSON.stringify(fields)} for people`, () => assert.equal(printLogLine(line(40, fields), false), want));
}

test('colors the level, and nothing else', () => {
  const red = '\u001B[31m';
  assert.equal(printLogLine(line(50, { msg: 'x' }), true), `10:11:12.345 ${red}ERROR\u001B[39m x\n`);
});

async function logged(
  options: LogOptions,
  use: (log: Awaited<ReturnType<typeof openLog>>['log']) => void,
): Promise<string> {
  const written: string[] = [];
  using opened = await openLog(options, new LogOutput((bytes) => (written.push(bytes.toString()), bytes.length)));
  use(opened.log);
  return written.join('');
}

test('logs the messages of an error and its causes, and stack traces only at level debug', async () => {
  const error = new Error('cannot list', { cause: new Error('connection refused') });
  const json = await logged({ level: 'info', format: 'json' }, (log) => log.error({ err: error }, 'failed'));
  assert.deepEqual(JSON.parse(json).err, { type: 'Error', message: 'cannot list: connection refused' });
  assert.match(await logged({ level: 'debug', format: 'json' }, (log) => log.error({ err: error }, 'failed')), /at /);
});

test('writes a repeated warning once, and then the number of repetitions', () => {
  const written: string[] = [];
  const deduplicator = new LogDeduplicator((each) => void written.push(each));
  for (let time = 1; time <= 5; time++) {
    deduplicator.write(`{"level":40,"time":"${time}","waitMs":${time},"msg":"watch failed, retrying"}\n`);
    deduplicator.write(`{"level":30,"time":"${time}","msg":"reloaded"}\n`);
  }
  deduplicator.write('{"level":40,"time":"6","msg":"another"}\n');
  assert.equal(written.filter((each) => each.includes('retrying')).length, 1);
  assert.equal(written.filter((each) => each.includes('reloaded')).length, 5);
  written.length = 0;
  deduplicator.flush();
  assert.deepEqual(written, ['{"level":40,"time":"5","waitMs":5,"msg":"watch failed, retrying","repeated":4}\n']);
  deduplicator.flush();
  assert.equal(written.length, 1);
});

test('writes 20 different lines with one message, and then the number of the others', () => {
  const written: string[] = [];
  const deduplicator = new LogDeduplicator((each) => void written.push(each));
  const failed = (service: number, failures: number): void =>
    deduplicator.write(
      `{"level":40,"service":${service},"failures":${failures},"msg":"could not reconcile, retrying"}\n`,
    );
  for (let service = 1; service <= 100; service++) failed(service, 1);
  for (let failures = 2; failures <= 4; failures++) failed(1, failures);
  deduplicator.write('{"level":40,"service":1,"msg":"another"}\n');
  assert.equal(written.length, 21);
  written.length = 0;
  deduplicator.flush();
  assert.deepEqual(written, [
    '{"level":40,"service":1,"failures":4,"msg":"could not reconcile, retrying","repeated":3}\n',
    '{"level":40,"service":100,"failures":1,"msg":"could not reconcile, retrying","omitted":80}\n',
  ]);
  deduplicator.flush();
  assert.equal(written.length, 2);
});
