// Tests authentication with an unmodified kubectl against a running process.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls, isSince } from '../harness/kubectl.ts';
import { root } from '../harness/process.ts';

for (const { path: program, version } of await findKubectls()) {
  describe(`identity with kubectl ${version}`, { skip: !isSince(version, '1.28') && 'it has no auth whoami' }, () => {
    const stack = new AsyncDisposableStack();
    let folder = '';
    let server: Fairlead;
    before(async () => {
      folder = stack.use(await temporaryDirectory()).path;
      const directory = join(folder, 'data');
      const tokens = join(folder, 'tokens.csv');
      await writeFile(tokens, 'secret,robot,7,"machines,tools"\n', { mode: 0o600 });
      server = stack.use(await startFairlead(directory, ['server', '--token-auth-file', tokens]));
    });
    after(() => stack.disposeAsync());

    const kubectl = (args: readonly string[], kubeconfig = server.kubeconfig): Promise<Result> =>
      run(program, args, { cwd: folder, env: { KUBECONFIG: kubeconfig, HOME: folder } });
    const must = async (args: readonly string[], kubeconfig?: string): Promise<string> => {
      const { out, err, code } = await kubectl(args, kubeconfig);
      assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`);
      return out;
    };
    const fairlead = (...args: string[]): Promise<Result> =>
      run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args, '--data-dir', server.directory], {
        cwd: folder,
      });
    /** A kubeconfig with the cluster and without a user. */
    const nobody = async (): Promise<string> => {
      const config = JSON.parse(await readFile(server.kubeconfig, 'utf8')) as Record<string, unknown>;
      const file = join(folder, 'nobody');
      await writeFile(file, JSON.stringify({ ...config, users: [] }));
      return file;
    };
    interface User {
      readonly username: string;
      readonly uid?: string;
      readonly groups: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    }
    const whoami = async (args: readonly string[] = [], kubeconfig?: string): Promise<User> => {
      const out = await must(['auth', 'whoami', '-o', 'json', ...args], kubeconfig);
      return (JSON.parse(out) as { status: { userInfo: User } }).status.userInfo;
    };

    /** The number of authorities that are published to Pods. */
    const publishedCount = async (): Promise<number> => {
      const pem = await must(['get', 'configmap', 'kube-root-ca.crt', '-o', 'jsonpath={.data.ca\\.crt}']);
      return pem.split('BEGIN CERTIFICATE').length - 1;
    };

    test('authenticates the administrator by certificate', async () => {
      const { username, groups, extra = {} } = await whoami();
      assert.equal(username, 'kubernetes-admin');
      assert.deepEqual(groups, ['system:masters', 'system:authenticated']);
      assert.match(extra['authentication.kubernetes.io/credential-id']?.[0] ?? '', /^X509SHA256=[0-9a-f]{64}$/);
    });

    test('accepts a static --token, and rejects a wrong one', async () => {
      const robot = await whoami(['--token', 'secret'], await nobody());
      assert.deepEqual(robot, { username: 'robot', uid: '7', groups: ['machines', 'tools', 'system:authenticated'] });
      const { err, code } = await kubectl(['get', 'services', '--token', 'wrong'], await nobody());
      assert.equal(code, 1);
      assert.match(err, /You must be logged in to the server|Unauthorized/);
    });

    test('accepts a token of create token as --token', async () => {
      await must(['create', 'serviceaccount', 'cart']);
      const token = (await must(['create', 'token', 'cart', '--duration', '10m'])).trim();
      const user = await whoami(['--token', token], await nobody());
      assert.equal(user.username, 'system:serviceaccount:default:cart');
      assert.deepEqual(user.groups, [
        'system:serviceaccounts',
        'system:serviceaccounts:default',
        'system:authenticated',
      ]);
      const refused = await kubectl(['get', 'secrets', '--token', token], await nobody());
      assert.match(refused.err, /User "system:serviceaccount:default:cart" cannot list resource "secrets"/);

      const foreign = (await must(['create', 'token', 'cart', '--audience', 'vault'])).trim();
      assert.equal((await kubectl(['get', 'services', '--token', foreign], await nobody())).code, 1);

      await must(['create', 'secret', 'generic', 'leash']);
      const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', 'leash'];
      const leashed = (await must(['create', 'token', 'cart', ...bound])).trim();
      assert.equal((await whoami(['--token', leashed], await nobody())).username, user.username);
      await must(['delete', 'secret', 'leash']);
      assert.equal((await kubectl(['auth', 'whoami', '--token', leashed], await nobody())).code, 1);

      await must(['delete', 'serviceaccount', 'cart']);
      assert.equal((await kubectl(['auth', 'whoami', '--token', token], await nobody())).code, 1);
      const short = await kubectl(['create', 'token', 'default', '--duration', '1m']);
      assert.match(short.err, /may not specify a duration less than 10 minutes/);
    });

    test('impersonates with --as, --as-group and --as-uid', async () => {
      const as = ['--as', 'bob', '--as-group', 'cooks', '--as-group', 'bakers', '--as-uid', '42'];
      assert.deepEqual(await whoami(as), {
        username: 'bob',
        uid: '42',
        groups: ['cooks', 'bakers', 'system:authenticated'],
      });
      const { err } = await kubectl(['get', 'services', '--as', 'bob']);
      assert.match(err, /User "bob" cannot list resource "services" in API group "" in the namespace "default"/);
      const alone = await kubectl(['get', 'services', '--as-group', 'cooks']);
      assert.equal(alone.code, 1);
      const robot = await kubectl(
        ['get', 'services', '--token', 'secret', '--as', 'kubernetes-admin', '--as-group', 'system:masters'],
        await nobody(),
      );
      assert.match(robot.err, /User "robot" cannot impersonate resource "users" in API group "" at the cluster scope/);
    });

    test('user add: creates a user with its own rights while the server runs', async () => {
      const made = await fairlead('user', 'add', 'alice', '--group', 'developers');
      assert.equal(made.code, 0, made.err);
      const alice = join(folder, 'alice.kubeconfig');
      assert.deepEqual((await whoami([], alice)).groups, ['developers', 'system:authenticated']);
      assert.equal((await kubectl(['get', 'services'], alice)).code, 1);
      await must(['create', 'rolebinding', 'developers', '--clusterrole', 'view', '--group', 'developers']);
      assert.match(await must(['get', 'services'], alice), /^NAME/);
      assert.equal((await kubectl(['get', 'secrets'], alice)).code, 1);
    });

    test('ca rotate: existing credentials work until --finish, and nothing restarts', async () => {
      const [alice, nora] = [join(folder, 'alice.kubeconfig'), join(folder, 'nora.kubeconfig')];
      const token = (await must(['create', 'token', 'default'])).trim();
      const before = await readFile(server.kubeconfig, 'utf8');
      await writeFile(join(folder, 'before'), before);
      const rotated = await fairlead('ca', 'rotate');
      assert.equal(rotated.code, 0, rotated.err);
      assert.match(rotated.out, /the running server has reloaded its certificates/);
      assert.equal((await whoami([], alice)).username, 'alice');
      assert.equal((await whoami([], join(folder, 'before'))).username, 'kubernetes-admin');
      assert.equal((await fairlead('user', 'add', 'nora')).code, 0);
      assert.equal((await whoami([], nora)).username, 'nora');
      await until('both authorities are published', async () => (await publishedCount()) === 2);

      assert.equal((await fairlead('ca', 'rotate', '--finish')).code, 0);
      assert.equal((await kubectl(['auth', 'whoami'], alice)).code, 1);
      assert.equal((await whoami([], nora)).username, 'nora');
      assert.equal((await whoami()).username, 'kubernetes-admin');
      const user = await whoami(['--token', token], await nobody());
      assert.equal(user.username, 'system:serviceaccount:default:default');
      await until('only the new authority is published', async () => (await publishedCount()) === 1);
    });

    test('ca rotate --tokens: old tokens remain valid, new ones are signed by a new key, also after a restart', async () => {
      const old = (await must(['create', 'token', 'default'])).trim();
      assert.equal((await fairlead('ca', 'rotate', '--tokens')).code, 0);
      const next = (await must(['create', 'token', 'default'])).trim();
      const kid = (token: string): unknown =>
        (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
      assert.notEqual(kid(next), kid(old));
      await server.stop();
      server = stack.use(await startFairlead(server.directory, ['server']));
      for (const token of [old, next]) {
        const user = await whoami(['--token', token], await nobody());
        assert.equal(user.username, 'system:serviceaccount:default:default');
      }
    });
  });
}
