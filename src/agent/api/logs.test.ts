import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

import type { ContainerStatus } from '../../api/kinds/core/pod/schema.ts';
import type { LogOptions } from './log-lines.ts';
import { LogFormatter, logOptions } from './log-lines.ts';
import { readLog } from './log-reader.ts';
import { instanceOf } from './logs.ts';

const options: LogOptions = {
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  since: undefined,
  limitBytes: undefined,
};
const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.123456789Z`;
const line = (second: number, text: string, tag = 'F', stream = 'stdout'): string =>
  `${at(second)} ${stream} ${tag} ${text}\n`;

suite('the instance of a log', () => {
  const terminated = (containerID: string): object => ({ terminated: { containerID, exitCode: 1 } });
  const subject = 'container "c" in pod "p"';
  const table: readonly {
    readonly name: string;
    readonly status: object | undefined;
    readonly previous?: true;
    readonly want: string;
  }[] = [
    { name: 'no status', status: undefined, want: `${subject} is not available` },
    { name: 'running', status: { state: { running: {} } }, want: 'current' },
    { name: 'terminated', status: { state: terminated('process://1') }, want: 'current' },
    { name: 'terminated without an instance', status: { state: terminated('') }, want: `${subject} is terminated` },
    {
      name: 'CrashLoopBackOff',
      status: { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: terminated('process://1') },
      want: 'previous',
    },
    {
      name: 'ContainerCreating',
      status: { state: { waiting: { reason: 'ContainerCreating' } } },
      want: `${subject} is waiting to start: ContainerCreating`,
    },
    {
      name: 'ErrImagePull',
      status: { state: { waiting: { reason: 'ErrImagePull' } } },
      want: `${subject} is waiting to start: image can't be pulled`,
    },
    {
      name: 'ImagePullBackOff',
      status: { state: { waiting: { reason: 'ImagePullBackOff' } } },
      want: `${subject} is waiting to start: trying and failing to pull image`,
    },
    { name: 'no state', status: {}, want: `${subject} is waiting to start - no logs yet` },
    {
      name: 'previous',
      status: { state: { running: {} }, lastState: terminated('process://1') },
      previous: true,
      want: 'previous',
    },
    {
      name: 'no previous',
      status: { state: { running: {} } },
      previous: true,
      want: `previous terminated ${subject} not found`,
    },
  ];
  for (const { name, status, previous = false, want } of table) {
    test(name, () => {
      const found = instanceOf(status as ContainerStatus | undefined, { container: 'c', pod: 'p', previous });
      assert.equal(typeof found === 'object' ? found.problem : found, want);
    });
  }
});

suite('lines of a log', () => {
  const text =
    line(1, 'one') + line(2, 'par', 'P') + line(2, 'err', 'F', 'stderr') + line(3, 'tial') + 'cut\n' + line(4, '');
  const table: readonly { readonly name: string; readonly options: Partial<LogOptions>; readonly want: string }[] = [
    { name: 'all', options: {}, want: 'one\nparerr\ntial\n\n' },
    {
      name: 'with times',
      options: { timestamps: true },
      want: `${at(1)} one\n${at(2)} par${at(2)} err\ntial\n${at(4)} \n`,
    },
    { name: 'since a time', options: { since: Date.parse(at(3)) }, want: 'tial\n\n' },
    { name: 'up to a number of bytes', options: { limitBytes: 5 }, want: 'one\np' },
  ];
  for (const { name, options: given, want } of table) {
    test(`${name}, in one chunk and byte by byte`, () => {
      assert.equal(new LogFormatter({ ...options, ...given }).push(Buffer.from(text)).toString(), want);
      const formatter = new LogFormatter({ ...options, ...given });
      assert.equal([...Buffer.from(text)].map((byte) => formatter.push(Buffer.of(byte)).toString()).join(''), want);
    });
  }

  test('options are those of a kubelet', () => {
    const parse = (query: string): LogOptions | string => logOptions(new URLSearchParams(query), 100_000);
    assert.deepEqual(parse('follow=true&tail=3&sinceSeconds=10'), {
      ...options,
      follow: true,
      tailLines: 3,
      since: 90_000,
    });
    assert.deepEqual(parse('tail=all'), options);
    assert.match(JSON.stringify(parse('tailLines=-1')), /tailLines/);
    assert.match(JSON.stringify(parse('limitBytes=0')), /limitBytes/);
    assert.match(JSON.stringify(parse('sinceTime=today')), /sinceTime/);
  });
});

suite('files of a log', () => {
  let directory = '';
  before(async () => (directory = await mkdtemp(join(tmpdir(), 'fairlead-log-'))));
  after(() => rm(directory, { recursive: true, force: true }));

  const read = async (files: readonly string[], given: Partial<LogOptions>): Promise<string> => {
    let output = '';
    const source = { files: async () => files, isLive: () => false };
    for await (const piece of readLog(source, { ...options, ...given }, new AbortController().signal))
      output += piece.toString();
    return output;
  };

  test('the last lines are counted over all files', async () => {
    const files = ['a', 'b', 'c'].map((name) => join(directory, name));
    const [first = '', second = '', third = ''] = files;
    await writeFile(first, line(1, '1') + line(2, '2'));
    await writeFile(second, line(3, '3') + line(4, '4'));
    await writeFile(third, line(5, '5') + line(6, '6'));
    for (const [tailLines, want] of [
      [0, ''],
      [1, '6\n'],
      [2, '5\n6\n'],
      [3, '4\n5\n6\n'],
      [5, '2\n3\n4\n5\n6\n'],
      [6, '1\n2\n3\n4\n5\n6\n'],
      [100, '1\n2\n3\n4\n5\n6\n'],
    ] as const) {
      assert.equal(await read(files, { tailLines }), want, `${tailLines} lines`);
    }
    assert.equal(await read([...files, join(directory, 'missing')], {}), '1\n2\n3\n4\n5\n6\n');
  });

  test('the last lines of a large file are found from its end', async () => {
    const file = join(directory, 'large');
    await writeFile(file, Array.from({ length: 20_000 }, (_, index) => line(1, `${index} ${'x'.repeat(30)}`)).join(''));
    const output = await read([file], { tailLines: 3000 });
    assert.equal(output.split('\n').length, 3001);
    assert.match(output, /^17000 x/);
  });

  test('a log is followed over rotations, without a line lost or repeated, until its end', async () => {
    const path = join(directory, 'followed.log');
    const rotated: string[] = [];
    await writeFile(path, line(0, '0'));
    let isLive = true;
    const source = { files: async () => [...rotated, path], isLive: () => isLive };
    const seen: string[] = [];
    const reading = (async () => {
      const follow = { ...options, follow: true };
      for await (const piece of readLog(source, follow, new AbortController().signal)) seen.push(piece.toString());
    })();
    for (let round = 1; round <= 30; round++) {
      await appendFile(path, line(1, String(round)));
      if (round % 7 === 0) {
        rotated.push(`${path}.${round}`);
        await rename(path, `${path}.${round}`);
        await writeFile(path, '');
      }
    }
    isLive = false;
    await reading;
    assert.equal(seen.join(''), Array.from({ length: 31 }, (_, index) => `${index}\n`).join(''));
  });

  test('a follower that leaves ends the reading', async () => {
    const path = join(directory, 'quiet.log');
    await writeFile(path, '');
    const gone = new AbortController();
    const source = { files: async () => [path], isLive: () => true };
    setTimeout(() => gone.abort(), 20);
    for await (const piece of readLog(source, { ...options, follow: true }, gone.signal)) assert.fail(piece.toString());
  });
});
