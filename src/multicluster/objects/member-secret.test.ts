import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import { withToken } from '../../client/kubeconfig.ts';
import { accessOf, serverOf } from './member-secret.ts';

const member: ClusterMember = { metadata: { name: 'east', namespace: 'sets' }, spec: { secretRef: { name: 'east' } } };

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { iat: 1000, exp: 4600, 'kubernetes.io': { namespace: 'ns', serviceaccount: { name: 'sa' } } };
const token = `${encoded({ alg: 'none' })}.${encoded(claims)}.x`;

const kubeconfig = ({
  cluster = {},
  user = { token },
}: { readonly cluster?: object; readonly user?: object } = {}): string =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://192.0.2.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  });

const secretWith = (content: string, key = 'kubeconfig'): Secret => ({
  metadata: { name: 'east', namespace: 'sets' },
  data: { [key]: Buffer.from(content).toString('base64') },
});

const problems: readonly { name: string; secret: Secret | undefined; want: RegExp }[] = [
  { name: 'no Secret', secret: undefined, want: /^SecretNotFound Secret sets\/east does not exist$/ },
  {
    name: 'another key',
    secret: secretWith(kubeconfig(), 'config'),
    want: /^InvalidKubeconfig Secret sets\/east has no key "kubeconfig"$/,
  },
  {
    name: 'no YAML',
    secret: secretWith('{'),
    want: /^InvalidKubeconfig Secret sets\/east, key kubeconfig is not YAML: /,
  },
  {
    name: 'no context',
    secret: secretWith('{}'),
    want: /Secret sets\/east, key kubeconfig has no current-context$/,
  },
  {
    name: 'no token',
    secret: secretWith(kubeconfig({ user: {} })),
    want: /key kubeconfig: user "u" has neither a token nor a client certificate$/,
  },
  {
    name: 'a program',
    secret: secretWith(kubeconfig({ user: { exec: { command: 'sh' } } })),
    want: /user "u" has exec: embed the data, as `kubectl config view --raw --flatten` does$/,
  },
  {
    name: 'a file with a token',
    secret: secretWith(kubeconfig({ user: { tokenFile: '/etc/shadow' } })),
    want: /has tokenFile: embed/,
  },
  {
    name: 'a file with a certificate',
    secret: secretWith(kubeconfig({ user: { token, 'client-key': '/etc/ssl/private/key.pem' } })),
    want: /has client-key: embed/,
  },
  {
    name: 'a file with authorities',
    secret: secretWith(kubeconfig({ cluster: { 'certificate-authority': '/etc/passwd' } })),
    want: /cluster "c" has certificate-authority: embed/,
  },
  {
    name: 'no server',
    secret: secretWith(kubeconfig({ cluster: { server: 'nowhere' } })),
    want: /has no server that is a URL/,
  },
];

for (const { name, secret, want } of problems) {
  test(`a Secret is not usable with ${name}`, async () => {
    const { problem } = await accessOf(member, secret);
    assert.match(`${problem?.reason} ${problem?.message}`, want);
  });
}

test('a token is read with its owner and its times, and can be replaced', async () => {
  const read = await accessOf(member, secretWith(kubeconfig()));
  assert.ok(read.problem === undefined);
  assert.deepEqual(read.claims, { issuedAtMs: 1_000_000, expiresAtMs: 4_600_000, namespace: 'ns', account: 'sa' });
  assert.equal(read.expiresAtMs, 4_600_000);
  const replaced = await accessOf(member, secretWith(withToken(read.content, read.access.userName, 'new')));
  assert.ok(replaced.problem === undefined);
  assert.equal(replaced.access.embedded.token, 'new');
  assert.equal(replaced.claims, undefined, 'not a JSON Web Token');
  assert.equal(serverOf(replaced), serverOf(read), 'a token does not change the server');
});

test('a context that the kubeconfig lacks is an error that names those it has', async () => {
  const { problem } = await accessOf({ ...member, spec: { ...member.spec, context: 'd' } }, secretWith(kubeconfig()));
  assert.equal(problem?.message, 'there is no context "d" (known: c)');
});
