import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fill, parseCommand, parseStories, parseWords, printResult } from './transcript.ts';

const stories = `# Title

Words.

## first

\`\`\`console
$ A=1 B='2 3' kubectl create -f - <<EOF
a: 1
EOF
made

! Warning: no
[1]
$… kubectl get
\`\`\`

## second

\`\`\`console since=1.33
$ curl /
NAME   AGE
a      …
\`\`\`
`;

test('a story has a name and steps with environment, input and expected output', () => {
  const [first, second] = parseStories(stories);
  assert.deepEqual(first, {
    name: 'first',
    since: '',
    steps: [
      {
        text: "A=1 B='2 3' kubectl create -f -",
        env: { A: '1', B: '2 3' },
        words: ['kubectl', 'create', '-f', '-'],
        input: 'a: 1\n',
        isLiteral: false,
        expected: 'made\n! Warning: no\n[1]',
        isEventual: false,
      },
      {
        text: 'kubectl get',
        env: {},
        words: ['kubectl', 'get'],
        input: '',
        isLiteral: true,
        expected: '',
        isEventual: true,
      },
    ],
  });
  assert.equal(second?.since, '1.33');
});

test('a file may name the command that its stories run against', () => {
  assert.deepEqual(parseCommand(stories), ['server']);
  assert.deepEqual(parseCommand('# A\n\nRuns with `fairlead up --cluster one`.\n'), ['up', '--cluster', 'one']);
  assert.deepEqual(parseCommand('# A\n\n## b\n\nRuns with `fairlead up`.\n'), ['server']);
});

const commands: readonly (readonly [string, readonly string[]])[] = [
  ['get svc', ['get', 'svc']],
  [`-p '{"a": 1}' x`, ['-p', '{"a": 1}', 'x']],
  [`--for=jsonpath='{.a}'=b "c d"`, ['--for=jsonpath={.a}=b', 'c d']],
];
for (const [given, want] of commands) test(`words of ${given}`, () => assert.deepEqual(parseWords(given), want));

test('prints the result of a command in the format of a story', () => {
  const result = { out: 'NAME     AGE\na     1s\n\n', err: 'oh\n', code: 2 };
  assert.equal(printResult(result), 'NAME  AGE\na  1s\n! oh\n[2]');
});

const matches: readonly { readonly expected: string; readonly printed: string; readonly ok: boolean }[] = [
  { expected: 'a', printed: 'a', ok: true },
  { expected: 'a.c', printed: 'abc', ok: false },
  { expected: 'a…c', printed: 'abbc', ok: true },
  { expected: 'a…c', printed: 'ab\nbc', ok: false },
  { expected: '…\nb', printed: 'b', ok: true },
  { expected: '…\nb', printed: 'a\na\nb', ok: true },
  { expected: 'a\n…', printed: 'a', ok: true },
  { expected: 'a\n…', printed: 'a\nb\nc', ok: true },
  { expected: 'a\n…\nc', printed: 'a\nb', ok: false },
  { expected: '', printed: 'a', ok: false },
];
for (const { expected, printed, ok } of matches) {
  const name = `${JSON.stringify(printed)} ${ok ? 'is' : 'is not'} ${JSON.stringify(expected)}`;
  test(name, () => assert.equal(fill(expected, printed) === printed, ok));
}
