import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { parseYaml } from '../../api/schema/yaml.ts';
import { YamlThread } from './yaml-thread.ts';

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

suite('YamlThread', () => {
  test('returns the same values as the parser', async () => {
    const thread = new YamlThread();
    for (const text of [
      'a: 1',
      '',
      lines(5000, (i) => `k${i}: &a${i} "\\u00e9\\ud83d\\ude00\\ud800"\n`),
      'a: 1\na: 2\n__proto__: {b: -0}',
    ]) {
      const { json, duplicates } = await thread.parse(text);
      const want = parseYaml(text);
      assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify(want.value)));
      assert.deepEqual(duplicates, want.duplicates);
    }
  });

  test('rejects what the parser rejects, and continues', async () => {
    const thread = new YamlThread();
    const results = await Promise.allSettled([
      thread.parse('a: ['),
      thread.parse(lines(150_000, () => '- 1\n')),
      thread.parse('a: 1'),
    ]);
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value.json : result.reason.code)),
      ['YAML', 'TOO_MANY_VALUES', '{"a":1}'],
    );
  });

  test('does not block the event loop', async () => {
    let turns = 0;
    const turn = setInterval(() => void turns++, 1);
    await new YamlThread().parse(lines(90_000, (i) => `k${i}: 1\n`));
    clearInterval(turn);
    assert.ok(turns > 0);
  });

  test('rejects a document that takes too long with a 413', async () => {
    const thread = new YamlThread({ parseMs: 0 }); // it does not even start in that time
    for (let round = 0; round < 2; round++) await assert.rejects(thread.parse('a: 1'), /too much time or memory/);
  });

  test('rejects a document that takes too much memory with a 413, and continues', async () => {
    const thread = new YamlThread({ heapMb: 16 });
    await assert.rejects(thread.parse(lines(90_000, (i) => `k${i}: {a: [b]}\n`)), /too much time or memory/);
    assert.equal((await thread.parse('a: 1')).json, '{"a":1}');
  });

  test('ends its worker when idle, and starts another one', async () => {
    const thread = new YamlThread({ idleMs: 1 });
    for (let round = 0; round < 3; round++) {
      assert.equal((await thread.parse('a: 1')).json, '{"a":1}');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  test('parses pending documents before it is disposed', async () => {
    const thread = new YamlThread();
    const parsed = thread.parse('a: 1');
    await thread[Symbol.asyncDispose]();
    assert.equal((await parsed).json, '{"a":1}');
  });
});
