import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { parseEncryptionConfiguration } from './config.ts';
import { aesgcm, configurationOf, identity, keyOf, secretbox } from './testing/configuration.ts';

suite('an EncryptionConfiguration', () => {
  test('is read from YAML, with resources by group and the providers in order', () => {
    const read = parseEncryptionConfiguration(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets, 'ingresses.networking.k8s.io']
    providers:
      - secretbox: {keys: [{name: one, secret: ${Buffer.alloc(32, 1).toString('base64')}}]}
      - identity: {}
  - resources: ['*.']
    providers: [{identity: {}}]
`);
    assert.deepEqual([...read.keys()], ['secrets.', 'ingresses.networking.k8s.io', '*.']);
    assert.deepEqual(read.get('secrets.'), [
      { type: 'secretbox', keys: [{ name: 'one', secret: Buffer.alloc(32, 1) }] },
      { type: 'identity' },
    ]);
  });

  test('appends the providers of a second entry for the same resource', () => {
    const entry = { resources: ['secrets'], providers: [identity] };
    const text = JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ ...entry, providers: [aesgcm(keyOf('a', 1))] }, entry],
    });
    assert.deepEqual(
      parseEncryptionConfiguration(text)
        .get('secrets.')
        ?.map(({ type }) => type),
      ['aesgcm', 'identity'],
    );
  });

  const good = [aesgcm(keyOf('a', 1))];
  const withResources = (...resources: readonly string[]): string => configurationOf(good, resources);
  const withKey = (key: object): string => configurationOf([aesgcm(key)]);
  const keyPath = 'resources[0].providers[0].aesgcm.keys[0]';
  const refused: readonly (readonly [what: string, text: string, want: string | RegExp])[] = [
    [
      'nothing',
      '',
      /^expected EncryptionConfiguration of apiserver.config.k8s.io\/v1, found kind "" of apiVersion ""$/,
    ],
    ['damaged YAML', 'resources: [', /^yaml: line 1/],
    ['another kind', '{"apiVersion":"v1","kind":"Secret"}', /found kind "Secret" of apiVersion "v1"$/],
    [
      'an unknown field',
      configurationOf([{ aesgmc: {} }]),
      'strict decoding error: unknown field "resources[0].providers[0].aesgmc"',
    ],
    ['no resources', configurationOf(good, []), /^resources\[0\]\.resources: Required value: at least one /],
    ['no providers', configurationOf([]), /^resources\[0\]\.providers: Required value: at least one /],
    [
      'an empty provider',
      configurationOf([{}]),
      /Invalid value: .*provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity$/,
    ],
    [
      'two providers in one element',
      configurationOf([{ ...identity, ...secretbox(keyOf('a', 1)) }]),
      /more than one provider specified in a single element, should split into different list elements$/,
    ],
    [
      'a KMS provider',
      configurationOf([{ kms: { apiVersion: 'v2', name: 'vault', endpoint: 'unix:///kms.sock' } }]),
      /^resources\[0\]\.providers\[0\]\.kms: .*KMS providers are not supported: use aesgcm or secretbox$/,
    ],
    ['no keys', configurationOf([aesgcm()]), /aesgcm\.keys: Required value: at least one keys is required$/],
    [
      'a key without a name',
      withKey({ secret: 'AAAAAAAAAAAAAAAAAAAAAA==' }),
      `${keyPath}.name: Required value: name is a mandatory field for a key`,
    ],
    [
      'a key without a secret',
      withKey({ name: 'a' }),
      `${keyPath}.secret: Required value: secret is a mandatory field for a key`,
    ],
    [
      'a secret that is no base64',
      withKey({ name: 'a', secret: 'not base64!' }),
      `${keyPath}.secret: Invalid value: "REDACTED": secrets must be base64 encoded`,
    ],
    [
      'a key that is too short',
      withKey(keyOf('a', 1, 15)),
      `${keyPath}.secret: Invalid value: "REDACTED": secret is not of the expected length, got 15, expected one of [16 24 32]`,
    ],
    [
      'a secretbox key of 16 bytes',
      configurationOf([secretbox(keyOf('a', 1, 16))]),
      /secret is not of the expected length, got 16, expected one of \[32\]$/,
    ],
    ['capital letters', withResources('Secrets'), /resource name should not contain capital letters$/],
    ['* without a group', withResources('*'), /use '\*\.' to encrypt all the resources from core API group or \*\.\* /],
    ['a resource of all groups', withResources('secrets.*'), /encrypting the same resource across groups is not /],
    ['the group of events', withResources('events.events.k8s.io'), /Use 'events' instead in the config file$/],
    ['the group extensions', withResources('ingresses.extensions'), /'extensions' group has been removed/],
    ['allocations', withResources('serviceipallocations'), /do not have REST API\/s cannot be encrypted$/],
    ['a resource twice', withResources('secrets', 'secrets'), /same resource cannot be specified multiple times$/],
    ['overlapping resources', withResources('secrets', '*.'), /is not allowed as they will be masked$/],
    ['*.* with another resource', withResources('*.*', 'secrets'), /is not allowed as they will be masked$/],
  ];
  for (const [what, text, want] of refused) {
    test(`rejects ${what}`, () => assert.throws(() => parseEncryptionConfiguration(text), { message: want }));
  }

  test('rejects a resource that an earlier entry masks', () => {
    const text = JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [
        { resources: ['*.'], providers: good },
        { resources: ['secrets'], providers: good },
      ],
    });
    const message = 'resource "secrets" is masked by earlier rule "*."';
    assert.throws(() => parseEncryptionConfiguration(text), { message });
  });

  test('never prints a key in an error', () => {
    const secret = Buffer.from('very secret bytes').toString('base64');
    const key = { name: 'a', secret };
    const texts = [
      configurationOf([aesgcm(key)]),
      configurationOf([{ ...aesgcm(key), ...identity }]),
      configurationOf([secretbox({ ...key, secret: `${secret}!` })]),
      configurationOf([{ kms: { secret } }]),
    ];
    for (const text of texts) {
      assert.throws(
        () => parseEncryptionConfiguration(text),
        (error) => !String(error).includes(secret.slice(0, 8)),
      );
    }
  });
});
