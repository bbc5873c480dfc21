import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';

import { tokenRequest } from '../../../api/kinds/authentication/tokenrequest/kind.ts';
import { encodeObject } from '../../../api/schema/protobuf.ts';
import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import { defaultIssuer } from './authenticator.ts';

const shop = '/api/v1/namespaces/shop';
const token = `${shop}/serviceaccounts/cart/token`;
const reviews = '/apis/authentication.k8s.io/v1/tokenreviews';
const container = { name: 'c', image: 'i' };

describe('serviceaccounts/token', () => {
  let server: TestServer;
  let uid = '';
  const uids: Record<string, string> = {};
  const create = async (url: string, body: object): Promise<string> => {
    const answer = await server.ask('POST', url, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.metadata.uid;
  };
  before(async () => {
    server = await testServer();
    await create('/api/v1/namespaces', { metadata: { name: 'shop' } });
    uid = await create(`${shop}/serviceaccounts`, { metadata: { name: 'cart' } });
    uids['node'] = await create('/api/v1/nodes', { metadata: { name: 'n1' } });
    uids['secret'] = await create(`${shop}/secrets`, { metadata: { name: 'key' } });
    const pod = (name: string, spec: object): object => ({
      metadata: { name },
      spec: { containers: [container], ...spec },
    });
    uids['pod'] = await create(`${shop}/pods`, pod('web', { serviceAccountName: 'cart', nodeName: 'n1' }));
    uids['lost'] = await create(`${shop}/pods`, pod('lost', { serviceAccountName: 'cart', nodeName: 'gone' }));
    await create(`${shop}/pods`, pod('other', { serviceAccountName: 'till' }));
  });
  after(() => server[Symbol.asyncDispose]());

  test('returns a token for this server and one hour by default', async () => {
    const { status, body } = await server.ask('POST', token, { body: {} });
    assert.equal(status, 201);
    const { token: made, expirationTimestamp } = body.status;
    const claims = decodeJwt(made);
    assert.deepEqual(body, {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name: 'cart', namespace: 'shop', uid, creationTimestamp: body.metadata.creationTimestamp },
      spec: { audiences: [defaultIssuer], expirationSeconds: 3600, boundObjectRef: null },
      status: { token: made, expirationTimestamp },
    });
    assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3600);
    assert.equal(Date.parse(expirationTimestamp) / 1000, claims.exp);
    assert.deepEqual(claims['kubernetes.io'], { namespace: 'shop', serviceaccount: { name: 'cart', uid } });
  });

  const bodies: readonly { name: string; spec: object; want: () => object }[] = [
    { name: 'audiences and a lifetime', spec: { audiences: ['a', 'b'], expirationSeconds: 600 }, want: () => ({}) },
    {
      name: 'a Pod with its node',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web' } },
      want: () => ({ pod: { name: 'web', uid: uids['pod'] }, node: { name: 'n1', uid: uids['node'] } }),
    },
    {
      name: 'a Pod on a deleted node',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'lost' } },
      want: () => ({ pod: { name: 'lost', uid: uids['lost'] }, node: { name: 'gone' } }),
    },
    {
      name: 'a Secret',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'key' } },
      want: () => ({ secret: { name: 'key', uid: uids['secret'] } }),
    },
    {
      name: 'a node',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'n1' } },
      want: () => ({ node: { name: 'n1', uid: uids['node'] } }),
    },
  ];
  for (const { name, spec, want } of bodies) {
    test(`a token for ${name}`, async () => {
      const { status, body } = await server.ask('POST', token, { body: { spec } });
      assert.equal(status, 201);
      const claims = decodeJwt(body.status.token);
      assert.deepEqual(claims['kubernetes.io'], {
        namespace: 'shop',
        serviceaccount: { name: 'cart', uid },
        ...want(),
      });
      assert.deepEqual(body.spec, {
        audiences: [defaultIssuer],
        expirationSeconds: 3600,
        boundObjectRef: null,
        ...spec,
      });
      assert.deepEqual(claims.aud, body.spec.audiences);
      assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), body.spec.expirationSeconds);
    });
  }

  test('accepts a protobuf body, as kubectl sends it', async () => {
    const body = encodeObject({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }, tokenRequest, {
      metadata: {},
      spec: { audiences: ['a'], expirationSeconds: 900 },
    });
    const answer = await server.ask('POST', token, { body, type: 'application/vnd.kubernetes.protobuf' });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.body.spec, { audiences: ['a'], expirationSeconds: 900, boundObjectRef: null });
  });

  test('caps a very long lifetime with a warning', async () => {
    const answer = await server.ask('POST', token, { body: { spec: { expirationSeconds: 2 ** 32 } } });
    assert.equal(answer.status, 201);
    assert.equal(answer.body.spec.expirationSeconds, 31536000);
    assert.deepEqual(answer.warnings, [
      '299 - "requested expiration of 4294967296 seconds shortened to 31536000 seconds"',
    ]);
  });

  const invalid = (name: string, why: string): string =>
    `TokenRequest.authentication.k8s.io "${name}" is invalid: ${why}`;
  const reference = (changes: object): object => ({
    spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', ...changes } },
  });
  const refusals: readonly {
    name: string;
    url?: string;
    body: object;
    want: readonly [code: number, message: string];
  }[] = [
    {
      name: 'an unknown account',
      url: `${shop}/serviceaccounts/nobody/token`,
      body: {},
      want: [404, 'serviceaccounts "nobody" not found'],
    },
    {
      name: 'another name',
      body: { metadata: { name: 'x' } },
      want: [
        422,
        invalid('cart', 'metadata.name: Invalid value: "x": must match the service account name if specified'),
      ],
    },
    {
      name: 'another namespace',
      body: { metadata: { namespace: 'x' } },
      want: [400, 'the namespace of the provided object does not match the namespace sent on the request'],
    },
    {
      name: 'too short a lifetime',
      body: { spec: { expirationSeconds: 599 } },
      want: [
        422,
        invalid('', 'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes'),
      ],
    },
    {
      name: 'no lifetime',
      body: { spec: { expirationSeconds: 0 } },
      want: [
        422,
        invalid('', 'spec.expirationSeconds: Invalid value: 0: may not specify a duration less than 10 minutes'),
      ],
    },
    {
      name: 'too long a lifetime',
      body: { spec: { expirationSeconds: 5000000000 } },
      want: [
        422,
        invalid(
          '',
          'spec.expirationSeconds: Invalid value: 5000000000: may not specify a duration larger than 2^32 seconds',
        ),
      ],
    },
    {
      name: 'an unsupported kind of object',
      body: reference({ kind: 'ConfigMap' }),
      want: [400, 'cannot bind token to object of type /v1, Kind=ConfigMap'],
    },
    {
      name: 'a Pod of another group',
      body: reference({ apiVersion: 'example.org/v1' }),
      want: [400, 'cannot bind token to object of type example.org/v1, Kind=Pod'],
    },
    { name: 'a reference without a name', body: reference({ name: '' }), want: [400, 'Name parameter required.'] },
    { name: 'an unknown Pod', body: reference({ name: 'x' }), want: [404, 'pods "x" not found'] },
    {
      name: 'an unknown node',
      body: reference({ kind: 'Node', name: 'x' }),
      want: [404, 'nodes "x" not found'],
    },
    {
      name: 'an unknown Secret',
      body: reference({ kind: 'Secret', name: 'x' }),
      want: [404, 'secrets "x" not found'],
    },
    {
      name: 'a Pod of another account',
      body: reference({ name: 'other' }),
      want: [400, 'cannot bind token for serviceaccount "cart" to pod running with different serviceaccount name.'],
    },
    {
      name: 'a recreated Pod',
      body: reference({ uid: 'old' }),
      want: [
        409,
        'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
      ],
    },
    {
      name: 'an unknown field in strict mode',
      url: `${token}?fieldValidation=Strict`,
      body: { spec: { foo: 1 } },
      want: [
        400,
        'TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: unknown field "spec.foo"',
      ],
    },
  ];
  for (const { name, url = token, body, want } of refusals) {
    test(`rejects ${name}`, async () => {
      const answer = await server.ask('POST', url, { body });
      assert.deepEqual([answer.status, answer.body.message], want);
    });
  }

  test('supports only POST', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal((await server.ask(method, token, { body: {} })).status, 405, method);
    }
    assert.equal((await server.ask('POST', `${shop}/configmaps/x/token`, { body: {} })).status, 404);
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    assert.equal((await server.ask('POST', token, { body: {}, accept })).status, 406);
  });

  test('requires its own permission', async () => {
    const { status, body } = await server.as({ name: 'bob' }).ask('POST', token, { body: {} });
    assert.equal(status, 403);
    assert.match(
      body.message,
      /User "bob" cannot create resource "serviceaccounts\/token" in API group "" in the namespace "shop"/,
    );
  });

  describe('TokenReview', () => {
    const review = async (spec: object): Promise<Awaited<ReturnType<TestServer['ask']>>> =>
      server.ask('POST', reviews, { body: { spec } });
    const made = async (spec: object = {}): Promise<string> =>
      (await server.ask('POST', token, { body: { spec } })).body.status.token;

    test('returns the user of a token', async () => {
      const { status, body } = await review({ token: await made({ audiences: ['a', 'b'] }), audiences: ['b', 'c'] });
      assert.equal(status, 201);
      assert.equal(body.kind, 'TokenReview');
      assert.equal(body.status.authenticated, true);
      assert.deepEqual(body.status.audiences, ['b']);
      assert.equal(body.status.user.username, 'system:serviceaccount:shop:cart');
      assert.equal(body.status.user.uid, uid);
    });

    test('rejects invalid tokens, with a reason for expired or revoked ones', async () => {
      assert.deepEqual((await review({ token: 'x' })).body.status, { user: {}, error: 'invalid bearer token' });
      assert.deepEqual((await review({ token: await made({ audiences: ['a'] }) })).body.status, {
        user: {},
        error: `[invalid bearer token, token audiences ["a"] is invalid for the target audiences ["${defaultIssuer}"]]`,
      });
      const { status, body } = await review({});
      assert.deepEqual([status, body.message], [400, 'token is required for TokenReview in authentication']);
    });

    test('reflects changes of the account', async () => {
      const accounts = `${shop}/serviceaccounts`;
      await create(accounts, { metadata: { name: 'brief' } });
      const { body } = await server.ask('POST', `${accounts}/brief/token`, { body: {} });
      const status = async (): Promise<unknown> => (await review({ token: body.status.token })).body.status;
      assert.equal((await review({ token: body.status.token })).body.status.authenticated, true);
      await server.ask('DELETE', `${accounts}/brief`);
      assert.deepEqual(await status(), {
        user: {},
        error: '[invalid bearer token, serviceaccounts "brief" not found]',
      });
      const next = await create(accounts, { metadata: { name: 'brief' } });
      const { serviceaccount } = decodeJwt(body.status.token)['kubernetes.io'] as { serviceaccount: { uid: string } };
      assert.deepEqual(await status(), {
        user: {},
        error: `[invalid bearer token, service account UID (${next}) does not match claim (${serviceaccount.uid})]`,
      });
    });

    test('can neither be listed nor read', async () => {
      assert.equal((await server.ask('GET', reviews)).status, 405);
      assert.equal((await server.ask('GET', `${reviews}/x`)).status, 404);
    });
  });

  test('SelfSubjectReview returns the user of the request', async () => {
    const { status, body } = await server
      .as({ name: 'bob', groups: ['cooks'] })
      .ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: { metadata: { name: 'ignored' } } });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(Object.keys(body.metadata), ['creationTimestamp']);
    assert.deepEqual(body.status, { userInfo: { username: 'bob', groups: ['cooks', 'system:authenticated'] } });
  });

  test('tokens can be verified with the published documents alone', async () => {
    const { status, body, headers } = await server.ask('GET', '/.well-known/openid-configuration');
    assert.equal(status, 200);
    assert.deepEqual(body, {
      issuer: defaultIssuer,
      jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
    assert.equal(headers['Cache-Control'], 'public, max-age=3600');
    const published = await server.ask('GET', '/openid/v1/jwks');
    assert.equal(published.headers['Content-Type'], 'application/jwk-set+json');
    assert.ok(!published.text.includes('"d"'), 'the private half is not published');
    const { body: made } = await server.ask('POST', token, { body: { spec: { audiences: ['vault'] } } });
    const { payload } = await jwtVerify(made.status.token, createLocalJWKSet(published.body), {
      issuer: body.issuer,
      audience: 'vault',
    });
    assert.equal(payload.sub, 'system:serviceaccount:shop:cart');
    assert.equal((await server.ask('POST', '/openid/v1/jwks', { body: {} })).status, 405);
    assert.equal((await server.as({ name: 'system:anonymous' }).ask('GET', '/openid/v1/jwks')).status, 403);
    const account = { name: 'system:serviceaccount:shop:cart', groups: ['system:serviceaccounts'] };
    assert.equal((await server.as(account).ask('GET', '/openid/v1/jwks')).status, 200);
  });
});
