import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { embeddedAccess, embeddedConfig, inCluster, kubeconfigPaths, readKubeconfig, withToken } from './kubeconfig.ts';
import { ManualClock } from './testing/clocks.ts';

interface Folder extends AsyncDisposable {
  readonly path: string;
  write(name: string, content: string): Promise<string>;
}

async function folder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-kubeconfig-'));
  return {
    path,
    async write(name, content) {
      await mkdir(join(path, name, '..'), { recursive: true });
      await writeFile(join(path, name), content);
      return join(path, name);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const config = (user: string): string => `
current-context: main
clusters:
- name: east
  cluster: { server: 'https://east.example.org:6443', certificate-authority: pki/ca.crt, tls-server-name: kubernetes }
contexts:
- name: main
  context: { cluster: east, user: me, namespace: shop }
- name: bare
  context: { cluster: east }
users:
- name: me
  user: ${user}
`;

test('reads server, CA, credentials and namespace of a context; paths are relative to the file', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  await home.write('me.key', 'KEY');
  const user = `{ client-certificate-data: ${base64('CERT')}, client-key: me.key, token: t }`;
  const path = await home.write('config', config(user));
  const { credentials, ...access } = await readKubeconfig({ paths: [path] });
  assert.deepEqual(access, {
    server: 'https://east.example.org:6443',
    ca: 'CA',
    tlsServerName: 'kubernetes',
    context: 'main',
    namespace: 'shop',
  });
  assert.deepEqual(await credentials(false), { token: 't', cert: 'CERT', key: 'KEY' });

  const bare = await readKubeconfig({ paths: [path], context: 'bare' });
  assert.equal(bare.namespace, 'default');
  assert.deepEqual(await bare.credentials(false), {});
});

test('reads further servers of a cluster from an extension', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  const withServers = (extension: string): string =>
    config('{}').replace(
      'tls-server-name: kubernetes }',
      `tls-server-name: kubernetes, extensions: [{ name: fairlead.dev/servers, extension: ${extension} }] }`,
    );
  const urls = "'https://east.example.org:6443', 'https://other.example.org:6443'";
  const path = await home.write('config', withServers(`{ servers: [${urls}] }`));
  assert.deepEqual((await readKubeconfig({ paths: [path] })).otherServers, ['https://other.example.org:6443']);
  const broken = await home.write('broken', withServers('{ servers: 7 }'));
  await assert.rejects(readKubeconfig({ paths: [broken] }), /"fairlead.dev\/servers" needs a list "servers" of URLs/);
});

test('merges files: the first definition wins, and missing files are skipped', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  const first = await home.write('first', 'users: [{ name: me, user: { token: first } }]');
  const second = await home.write('second', config('{ token: second }'));
  const access = await readKubeconfig({ paths: [first, join(home.path, 'none'), second] });
  assert.deepEqual(await access.credentials(false), { token: 'first' });
  assert.equal(access.context, 'main');
});

test('uses the files in KUBECONFIG or the one in the home directory', () => {
  assert.deepEqual(kubeconfigPaths({ KUBECONFIG: 'a::b' }, '/home/me'), ['a', 'b']);
  assert.deepEqual(kubeconfigPaths({}, '/home/me'), [join('/home/me', '.kube', 'config')]);
});

test('reads a token file again after ten seconds and after its token was rejected', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  await home.write('token', '1\n');
  const clock = new ManualClock();
  const access = await readKubeconfig({ paths: [await home.write('config', config('{ tokenFile: token }'))], clock });
  const token = async (isRefused: boolean): Promise<string | undefined> => (await access.credentials(isRefused)).token;
  assert.equal(await token(false), '1');
  await home.write('token', '2');
  assert.equal(await token(false), '1');
  assert.equal(await token(true), '2');
  await home.write('token', '3');
  await clock.advance(10_000);
  assert.equal(await token(false), '3');
});

test('reloads credentials and authorities from the kubeconfig and ignores other changes', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  const clock = new ManualClock();
  const write = (content: string): Promise<string> => home.write('config', content);
  const { credentials } = await readKubeconfig({ paths: [await write(config('{ token: first }'))], clock });
  const soon = async (): Promise<object> => {
    await clock.advance(10_000);
    return credentials(false);
  };
  await write(config('{ token: second }'));
  assert.deepEqual(await credentials(false), { token: 'first' });
  assert.deepEqual(await credentials(true), { token: 'second' });
  await home.write('me.key', 'KEY');
  await home.write('me.crt', 'CERT');
  await write(config('{ client-certificate: me.crt, client-key: me.key }'));
  assert.deepEqual(await soon(), { cert: 'CERT', key: 'KEY' });
  await home.write('me.crt', 'NEW');
  assert.deepEqual(await soon(), { cert: 'NEW', key: 'KEY' });
  await home.write('pki/ca.crt', 'OTHER CA');
  assert.deepEqual(await soon(), { cert: 'NEW', key: 'KEY', ca: 'OTHER CA' });
  const good = config('{ token: third }');
  const useless = {
    'half written': good.slice(0, 20),
    'of another server': good.replace('east.example', 'west.example'),
    'without the context': good.replaceAll('main', 'other'),
  };
  for (const [name, content] of Object.entries(useless)) {
    await write(content);
    assert.deepEqual(await soon(), { cert: 'NEW', key: 'KEY', ca: 'OTHER CA' }, name);
  }
  await home.write('pki/ca.crt', 'CA');
  await write(good.replace('current-context: main', 'current-context: bare'));
  assert.deepEqual(await soon(), { token: 'third' }, 'another context is current, which is not ours');
});

test('runs a credential plugin once for concurrent callers, and again when its credentials expire or are rejected', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  const count = await home.write('count', '');
  const script = await home.write(
    'plugin.mjs',
    `import { appendFileSync, readFileSync } from 'node:fs';
     appendFileSync(process.env.COUNT, 'x');
     const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
     const token = [readFileSync(process.env.COUNT, 'utf8').length, process.argv[2], spec.cluster.server].join(' ');
     console.log(JSON.stringify({ kind: 'ExecCredential', status: { token, expirationTimestamp: '1970-01-01T00:01:00Z' } }));`,
  );
  const exec = {
    command: process.execPath,
    args: [script, 'arg'],
    env: [{ name: 'COUNT', value: count }],
    provideClusterInfo: true,
  };
  const clock = new ManualClock();
  const path = await home.write('config', config(JSON.stringify({ exec })));
  const { credentials } = await readKubeconfig({ paths: [path], clock });
  const token = async (isRefused: boolean): Promise<string> => (await credentials(isRefused)).token ?? '';
  const first = '1 arg https://east.example.org:6443';
  assert.deepEqual(await Promise.all([token(false), token(false)]), [first, first]);
  assert.equal(await token(false), first);
  assert.match(await token(true), /^2 /);
  await clock.advance(60_000);
  assert.match(await token(false), /^3 /);
});

const failing: readonly { readonly name: string; readonly exec: object; readonly want: RegExp }[] = [
  {
    name: 'does not exist',
    exec: { command: 'no-such-program', installHint: 'Install it.' },
    want: /^credential plugin "no-such-program" of user "me" failed: ENOENT\nInstall it\.$/,
  },
  { name: 'fails', exec: { command: process.execPath, args: ['-e', 'process.exit(3)'] }, want: /: it exited with 3$/ },
  {
    name: 'does not print JSON',
    exec: { command: process.execPath, args: ['-e', '0'] },
    want: /: it did not print JSON$/,
  },
];
for (const { name, exec, want } of failing) {
  test(`a credential plugin that ${name} causes an error with its name`, async () => {
    await using home = await folder();
    await home.write('pki/ca.crt', 'CA');
    const path = await home.write('config', config(JSON.stringify({ exec })));
    const { credentials } = await readKubeconfig({ paths: [path] });
    await assert.rejects(credentials(false), { code: 'USAGE', message: want });
  });
}

const wrong: readonly { readonly content: string; readonly context?: string; readonly want: RegExp }[] = [
  { content: config('{}'), context: 'other', want: /^there is no context "other" \(known: (main, bare|bare, main)\)$/ },
  { content: 'contexts: []', want: / has no current-context$/ },
  {
    content: 'current-context: a\ncontexts: [{ name: a, context: { cluster: b } }]',
    want: /^there is no cluster "b" of context "a"$/,
  },
  { content: '- 1', want: /is not a kubeconfig$/ },
  { content: 'a: [', want: /is not YAML: unexpected end of the stream within a flow collection at line 1$/ },
  {
    content: config('{ auth-provider: {} }'),
    want: /^user "me": auth-provider is not supported, Kubernetes removed it: use exec$/,
  },
  { content: config('{}').replace('https:', ''), want: /^cluster "east" has no server that is a URL/ },
];
for (const { content, context, want } of wrong) {
  test(`rejects a kubeconfig: ${want.source}`, async () => {
    await using home = await folder();
    await home.write('pki/ca.crt', 'CA');
    const path = await home.write('config', content);
    await assert.rejects(readKubeconfig({ paths: [path], context }), { code: 'USAGE', message: want });
  });
}

test('names the searched paths if there is no kubeconfig', () =>
  assert.rejects(readKubeconfig({ paths: ['/nowhere/config'] }), {
    message: 'there is no kubeconfig at /nowhere/config',
  }));

test('uses the service account volume in a Pod', async () => {
  await using home = await folder();
  await home.write('ca.crt', 'CA');
  await home.write('token', 'T');
  await home.write('namespace', 'shop\n');
  const env = { KUBERNETES_SERVICE_HOST: '2001:db8::1', KUBERNETES_SERVICE_PORT: '443' };
  const clock = new ManualClock();
  const access = await inCluster(env, { directory: home.path, clock });
  assert.deepEqual([access.server, access.ca, access.namespace], ['https://[2001:db8::1]:443', 'CA', 'shop']);
  assert.deepEqual(await access.credentials(false), { token: 'T' });
  await home.write('ca.crt', 'OTHER CA');
  await clock.advance(10_000);
  assert.deepEqual(await access.credentials(false), { token: 'T', ca: 'OTHER CA' });
  await assert.rejects(inCluster({}), { code: 'USAGE' });
});

test('bounds the output of a credential plugin and the size of a file', async () => {
  await using directory = await folder();
  const user = (entry: object) => ({
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: entry }],
  });
  const prints = 'for (;;) require("fs").writeSync(1, "x".repeat(65536))';
  const path = await directory.write(
    'kubeconfig',
    JSON.stringify(user({ exec: { command: process.execPath, args: ['-e', prints] } })),
  );
  const access = await readKubeconfig({ paths: [path] });
  await assert.rejects(access.credentials(false), { message: /: it printed more than 1048576 bytes$/ });

  await directory.write('kubeconfig', JSON.stringify(user({ tokenFile: '/dev/zero' })));
  const endless = await readKubeconfig({ paths: [path] });
  await assert.rejects(endless.credentials(false), { message: '/dev/zero is longer than 16777216 bytes' });
  await assert.rejects(readKubeconfig({ paths: ['/dev/zero'] }), {
    code: 'USAGE',
    message: /longer than 16777216 bytes/,
  });
});

test('a kubeconfig is embedded with the content of its files, and not with the credentials of a plugin', async () => {
  await using home = await folder();
  await home.write('pki/ca.crt', 'CA');
  await home.write('token', 'from a file\n');
  const path = await home.write('config', config('{ tokenFile: token }'));
  const content = await embeddedConfig({ paths: [path] });
  const access = await embeddedAccess(content, { source: 'the Secret' });
  assert.deepEqual(
    [access.server, access.ca, access.tlsServerName],
    ['https://east.example.org:6443', 'CA', 'kubernetes'],
  );
  assert.deepEqual(access.embedded, { token: 'from a file' });
  const changed = await embeddedAccess(withToken(content, 'me', 'new'), { source: 'the Secret' });
  assert.deepEqual([changed.ca, changed.embedded], ['CA', { token: 'new' }]);
  await home.write('config', config('{ exec: { command: sh } }'));
  await assert.rejects(embeddedConfig({ paths: [path] }), {
    message: 'user "me" has exec, whose credentials cannot be stored',
  });
});
