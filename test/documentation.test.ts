// Runs every console block of README.md and docs/ and compares its output with the page.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { withMetrics, withoutLabels } from './docs/metrics.ts';
import { Checkout } from './harness/checkout.ts';
import { temporaryDirectory } from './harness/fairlead.ts';
import { unless, unlessInstalled } from './harness/needs.ts';
import { whyNotNobody } from './harness/nobody.ts';
import { root } from './harness/process.ts';
import type { Step } from './harness/transcript.ts';
import { fill, parseStories, tidy } from './harness/transcript.ts';

/** How long a read-only command is repeated until it prints the text of the page. */
const soonMs = 60_000;
const skip = unless(whyNotNobody()) || unlessInstalled('bash', 'curl', 'dig', 'etcd', 'knotd', 'nft', 'nsupdate');

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).toSorted()];
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** Output that differs between runs, and its placeholder in the comparison. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/ready in [\d.]+ m?s/g, 'ready in TIME'],
  [/\b127\.(\d+)\.\d+\.\d+\b(?!\/)/g, '127.$1.X.Y'],
  [/(?<=\s)(?:\d+[dhms]){1,2}$/gm, 'AGE'],
  [/(?<=\s)(?:\d+[dhms]){1,2}(?= {2,})/g, 'AGE'],
  [/\b10\.96\.\d+\.\d+\b(?!\/)/g, '10.96.X.Y'],
  [/\b10\.0\.0\.\d+\b(?!\/)/g, '10.0.0.X'],
  [/:3\d{4}(?=\/)/g, ':NODEPORT'],
  [/\bshop-[a-z\d]+-[a-z\d]{5}\b/g, 'shop-HASH-HASH'],
  [/(?<=replicaset\.apps\/[a-z]+)-[a-z\d]+/g, '-HASH'],
  [/\bwest(,| and )east\b/g, 'east$1west'], // the clusters are listed in the order of their exports
  [/^ +…$/gm, '…'],
  [/\b([a-z]+)-[a-z\d]{5}\b(?= {2}| )/g, '$1-HASH'],
  [/\b1[78]\d{8}\b/g, 'SERIAL'],
  [/\b20\d\d-\d\d-\d\dT[\d:.]+Z/g, 'TIMESTAMP'],
  [/\b20\d\d-\d\d-\d\d\b/g, 'DATE'],
  [/\b\d+ days left/g, 'N days left'],
  [/(?<= )[\w-]{43}(?=[ ;])/g, 'KEY'],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g, 'UID'],
  // Since 1.34 kubectl prints the namespace of a deleted object.
  [/ deleted from \S+ namespace$/gm, ' deleted'],
];
const normalize = (text: string): string =>
  tidy(changing.reduce((normal, [pattern, name]) => normal.replaceAll(pattern, name), text));

/** Read-only commands. */
const reads =
  /^(?:dig|curl|grep|kubectl (?:-{1,2}\S+[ =]\S+ )*(?:get|describe|auth)|ip -brief|npx fairlead (?:mcs (?!join|leave)|dns query|proxy routes|publisher plan))\b/;

async function play(checkout: Checkout, step: Step): Promise<void> {
  const wanted = normalize(step.expected);
  for (const end = performance.now() + (reads.test(step.text) ? soonMs : 0); ; await delay(50)) {
    const printed = normalize(await checkout.run(step));
    const filled = fill(wanted, printed);
    if (printed !== filled && performance.now() < end) continue;
    assert.equal(printed, filled, `$ ${step.text}`);
    return;
  }
}

for (const page of pages) {
  const stories = parseStories(`## ${textOf(page).replace(/^# /, '')}`).filter(({ steps }) => steps.length > 0);
  if (stories.length === 0) continue;
  describe(`the commands of ${page}`, { skip }, () => {
    const stack = new AsyncDisposableStack();
    let checkout: Checkout;
    before(async () => {
      const { path } = stack.use(await temporaryDirectory());
      const asRoot = textOf(page).includes('<!-- run as root -->');
      checkout = stack.use(await Checkout.open(path, { asRoot }));
    });
    after(() => stack.disposeAsync());

    for (const { name, steps } of stories) {
      test(name, async () => {
        for (const step of steps) await play(checkout, step);
      });
    }
  });
}

test('every command in the documentation is run by a test, or docs/README.md lists what it needs', () => {
  const unmarked: string[] = [];
  const needs: string[] = [];
  for (const page of pages) {
    for (const [, need, block = ''] of textOf(page).matchAll(
      /^```(?:sh|bash|shell)(?: needs="(.+?)")?\n(.*?)^```$/gms,
    )) {
      if (need === undefined) unmarked.push(`${page}: ${block.split('\n', 1)[0] ?? ''}`);
      else needs.push(`| ${page.replace(/^docs\//, '')} | ${need} |`);
    }
  }
  assert.deepEqual(unmarked, [], 'use a console block, or say what the commands need: ```sh needs="an AWS account"');
  const [, list = ''] = textOf('docs/README.md').split('## Commands that no test runs');
  const [, , ...rows] = list.split('\n').filter((line) => line.startsWith('|'));
  assert.deepEqual(rows, [...new Set(needs)].toSorted());
});

test('every link in the documentation leads to a file, and its anchor to a heading', () => {
  const slug = (heading: string): string =>
    heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
  const anchors = (text: string): string[] =>
    Array.from(text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm), ([, heading = '']) => slug(heading));
  const markdown = [...pages, ...globSync(['*.md', 'src/**/*.md', 'test/**/*.md', 'deploy/**/*.md'], { cwd: root })];
  const broken = [...new Set(markdown)].flatMap((page) =>
    Array.from(textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g)).flatMap(
      ([link, path = '', anchor]) => {
        const target = path === '' ? page : join(page, '..', path);
        if (!globSync(target, { cwd: root }).length) return [`${page}: ${link}`];
        return anchor === undefined || anchors(textOf(target)).includes(anchor) ? [] : [`${page}: ${link}`];
      },
    ),
  );
  assert.deepEqual(broken, []);
});

test('the metrics page matches a running cluster', { skip }, async () => {
  assert.equal(
    withoutLabels(textOf('docs/reference/metrics.md')),
    withoutLabels(await withMetrics()),
    'run: npm run docs',
  );
});

const sources = globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', '**/testing/**'] })
  .map(textOf)
  .join('\n');
const notIn = (text: string, items: Iterable<string>): readonly string[] =>
  [...new Set(items)].filter((item) => !text.includes(item)).toSorted();

test('the reference lists every Event, and only Events that exist', () => {
  const page = textOf('docs/reference/conditions-and-events.md');
  const planned = /(?:type: '(?:Normal|Warning)',\s*reason: |\b(?:normal|warning)\(\s*)'(\w+)'/g;
  assert.deepEqual(
    notIn(
      page,
      Array.from(sources.matchAll(planned), ([, reason]) => `\`${reason}\``),
    ),
    [],
  );
  const listed = Array.from(page.matchAll(/^\| (?:Normal|Warning) \| (.*?) \|/gm), ([, cell = '']) =>
    Array.from(cell.matchAll(/`(\w+)`/g), ([, reason]) => `'${reason}'`),
  );
  assert.deepEqual(notIn(sources, listed.flat()), []);
});

test('the reference lists every label, annotation and finalizer of Fairlead, and only keys that exist', () => {
  const page = textOf('docs/reference/labels-and-annotations.md');
  const declared = /^(?:export )?const \w*(?:Label|Annotation|Finalizer|finalizer|annotation) = '([^']+\/[^']+)'/gm;
  assert.deepEqual(
    notIn(
      page,
      Array.from(sources.matchAll(declared), ([, key]) => `\`${key}\``),
    ),
    [],
  );
  const keys = Array.from(page.matchAll(/`((?:[a-z\d-]+\.)+[a-z]+\/[\w.-]*)[^`]*`/g), ([, key = '']) => key);
  // The code joins these domains and names.
  const joined =
    /^(?:(?:loadbalancer\.fairlead\.dev|metallb\.io)\/|fairlead\.dev\/(?=internal-hostname|target|access|endpoints-type|webhook-))/;
  assert.deepEqual(
    notIn(
      sources,
      keys.map((key) => key.replace(joined, '').replace(/(?:ROLE|NAME)$/, '')),
    ),
    [],
  );
});
