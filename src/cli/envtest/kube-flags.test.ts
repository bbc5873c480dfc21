import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { apiServerOptions, parseKubeFlags } from './kube-flags.ts';

suite('flags of Kubernetes', () => {
  const cases: readonly (readonly [args: readonly string[], want: Readonly<Record<string, readonly string[]>>])[] = [
    [[], {}],
    [['--a=1', '--b', '2', '--c'], { a: ['1'], b: ['2'], c: ['true'] }],
    [['--a=1', '--a=2'], { a: ['1', '2'] }],
    [['--a=x=y', '-v=2', '--empty='], { a: ['x=y'], v: ['2'], empty: [''] }],
    [['--c', '--d=1'], { c: ['true'], d: ['1'] }],
  ];
  for (const [args, want] of cases) {
    test(`reads ${JSON.stringify(args)}`, () => assert.deepEqual(Object.fromEntries(parseKubeFlags(args)), want));
  }

  test('rejects a word without dashes', () =>
    assert.throws(() => parseKubeFlags(['up']), /unexpected argument "up": expected --FLAG=VALUE/));
});

const fromEnvtest = [
  '--allow-privileged=true',
  '--authorization-mode=RBAC',
  '--bind-address=127.0.0.1',
  '--cert-dir=/tmp/c',
  '--client-ca-file=/tmp/c/client-cert-auth-ca.crt',
  '--disable-admission-plugins=ServiceAccount',
  '--etcd-servers=http://127.0.0.1:1234',
  '--secure-port=4321',
  '--service-account-issuer=https://127.0.0.1:4321/',
  '--service-account-key-file=/tmp/c/sa-signer.crt',
  '--service-account-signing-key-file=/tmp/c/sa-signer.key',
  '--service-cluster-ip-range=10.0.0.0/24',
];

suite('an API server of envtest', () => {
  test('has the address, the files and the ranges that envtest passes', () => {
    const { gates: _, plugins, ...options } = apiServerOptions(parseKubeFlags(fromEnvtest));
    assert.deepEqual(options, {
      host: '127.0.0.1',
      port: 4321,
      certDir: '/tmp/c',
      certFile: undefined,
      keyFile: undefined,
      clientCaFile: '/tmp/c/client-cert-auth-ca.crt',
      serviceCidrs: ['10.0.0.0/24'],
      issuer: 'https://127.0.0.1:4321/',
      ignored: [],
    });
    assert.ok(plugins.has('MutatingAdmissionWebhook') && !plugins.has('NodeRestriction'));
  });

  test('ignores flags, gates and plugins that it does not have, and names them', () => {
    const flags = parseKubeFlags([
      ...fromEnvtest,
      '--runtime-config=api/all=true',
      '--feature-gates=RelaxedServiceNameValidation=true,Other=true',
      '--enable-admission-plugins=PodSecurity,DenyServiceExternalIPs',
    ]);
    const { gates, plugins, ignored } = apiServerOptions(flags);
    assert.deepEqual([...gates.explicit], [['RelaxedServiceNameValidation', true]]);
    assert.ok(plugins.has('DenyServiceExternalIPs'));
    assert.deepEqual(ignored, [
      '--runtime-config',
      '--feature-gates Other=true',
      '--enable-admission-plugins PodSecurity',
    ]);
  });

  test('does not start without the files of envtest', () =>
    assert.throws(() => apiServerOptions(parseKubeFlags(['--cert-dir=/tmp'])), /--client-ca-file is missing/));
});
