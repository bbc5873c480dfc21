// Types the tour of README.md, word for word, as nobody in a network of their own, and compares what is printed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { temporaryDirectory } from './harness/fairlead.ts';
import { findKubectls } from './harness/kubectl.ts';
import { unless, unlessInstalled } from './harness/needs.ts';
import { giveToNobody, NobodysNetwork, whyNotNobody } from './harness/nobody.ts';
import { FairleadProcess, root } from './harness/process.ts';
import type { Step } from './harness/transcript.ts';
import { fill, parseStories, parseWords, tidy } from './harness/transcript.ts';

const soonMs = 60_000;
const skip = unless(whyNotNobody()) || unlessInstalled('bash', 'curl', 'dig');
const stories = parseStories(readFileSync(join(root, 'README.md'), 'utf8')).filter(({ steps }) => steps.length > 0);

/** What is different each time, by what it is. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/\/\S+(?=\/\.fairlead)/g, '/home/you/fairlead'],
  [/ready in [\d.]+ m?s/g, 'ready in TIME'],
  [/\b127\.(6[45])\.\d+\.\d+\b(?!\/)/g, '127.$1.X.Y'],
  [/\b\d+s$/gm, 'AGE'],
  [/:3\d{4}(?=\/)/g, ':NODEPORT'],
  [/\bshop-[12] of/g, 'shop-N of'],
  [/\bwest,east\b/g, 'east,west'], // who exported first
  [/^ +…$/gm, '…'],
  [/\bweb-[a-z\d]{5}\b/g, 'web-HASH'],
  [/\b1[78]\d{8}\b/g, 'SERIAL'],
  [/\b20\d\d-\d\d-\d\d\b/g, 'DATE'],
  // Since 1.34 kubectl says where it deleted something.
  [/ deleted from \S+ namespace$/gm, ' deleted'],
];
const settle = (text: string): string =>
  tidy(changing.reduce((settled, [pattern, name]) => settled.replaceAll(pattern, name), text));

/** Commands that only look may be typed again until they see it. */
const looks = /^(?:dig|curl|kubectl (?:-n \S+ )?get|npx fairlead (?:mcs status|dns query))\b/;

/** A checkout, as far as the tour needs one: what it reads, what it runs, and where it writes. */
class Tour implements AsyncDisposable {
  readonly #network = new NobodysNetwork();
  readonly #folder: string;
  #fairlead: FairleadProcess | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async prepare(): Promise<void> {
    const [kubectl] = await findKubectls();
    const programs = join(this.#folder, 'programs');
    await mkdir(programs);
    await symlink(join(root, 'examples'), join(this.#folder, 'examples'));
    await symlink(kubectl?.path ?? '', join(programs, 'kubectl'));
    const fairlead = `#!/bin/sh\nshift\nexec '${process.execPath}' '${join(root, 'bin', 'fairlead.js')}' "$@"\n`;
    await writeFile(join(programs, 'npx'), fairlead);
    await chmod(join(programs, 'npx'), 0o755);
    await giveToNobody(this.#folder);
  }

  /** What a command prints. */
  async type(text: string): Promise<string> {
    if (text.startsWith('export ')) return '';
    if (text.startsWith('npm start')) return this.#start(parseWords(text).slice(3));
    const path = [join(this.#folder, 'programs'), process.env['PATH']].join(delimiter);
    const env = { PATH: path, HOME: this.#folder, KUBECONFIG: join(this.#folder, '.fairlead', 'kubeconfig') };
    const { out, err } = await this.#network.run(['bash', '-c', withoutProgress(text)], { cwd: this.#folder, env });
    return `${err}\n${out}`;
  }

  async #start(flags: readonly string[]): Promise<string> {
    await this.#fairlead?.stop();
    const args = ['up', '--demo', '--data-dir', join(this.#folder, '.fairlead'), ...flags];
    this.#fairlead = new FairleadProcess(args, { within: this.#network.within });
    await this.#fairlead.prints(/old-shop\.demo.*\n$/);
    return `${this.#fairlead.err}${this.#fairlead.out}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fairlead?.stop();
    this.#network[Symbol.dispose]();
  }
}

/** On a terminal curl prints what it got and nothing else, since that goes there too. */
const withoutProgress = (text: string): string => text.replace(/^curl /, 'curl -sS ');

describe('the tour of README.md, as nobody', { skip }, () => {
  const stack = new AsyncDisposableStack();
  let tour: Tour;
  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    tour = stack.use(new Tour(path));
    await tour.prepare();
  });
  after(() => stack.disposeAsync());

  async function play({ text, expected }: Step): Promise<void> {
    const wanted = settle(expected);
    for (const end = performance.now() + (looks.test(text) ? soonMs : 0); ; await delay(50)) {
      const printed = settle(await tour.type(text));
      const filled = fill(wanted, printed);
      if (printed !== filled && performance.now() < end) continue;
      assert.equal(printed, filled, `$ ${text}`);
      return;
    }
  }
  for (const { name, steps } of stories) {
    test(name, async () => {
      for (const step of steps) await play(step);
    });
  }
});
