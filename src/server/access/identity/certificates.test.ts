import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';

import { gatesWith } from '../../../api/gates.ts';
import { openMemoryStore } from '../../../store/memory/memory.ts';
import type { KeyPair, Subject } from '../../pki/issue.ts';
import { issue, issueCa } from '../../pki/issue.ts';
import type { RunningServer } from '../../server.ts';
import { startServer } from '../../server.ts';

const day = 86_400_000;
const alice: Subject = { use: 'client', commonName: 'alice', groups: ['developers', 'cooks'] };
const serving: Subject = { use: 'server', commonName: 'test', names: { dns: ['localhost'], ips: ['127.0.0.1'] } };
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}

interface RequestSettings {
  readonly as?: KeyPair | undefined;
  readonly token?: string;
  readonly agent?: Agent;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

describe('authentication of a connection', () => {
  const stack = new AsyncDisposableStack();
  let [ca, otherCa, presented]: KeyPair[] = [];
  let server: RunningServer;
  const issued = (subject: Subject, from: KeyPair | undefined = ca, now = new Date()): Promise<KeyPair> => {
    assert.ok(from);
    return issue(from, subject, { now, days: 1 });
  };

  before(async () => {
    const validity = { now: new Date(), days: 30 };
    ca = await issueCa('test-ca', validity);
    otherCa = await issueCa('test-ca', validity); // with the same name
    presented = await issued(serving);
    const store = stack.use(openMemoryStore());
    server = await startServer({
      name: 'test',
      version: '0.0.0',
      store,
      listen: { host: '127.0.0.1', port: 0 },
      tls: { ...presented, ca: ca.cert },
      gates: gatesWith({}),
      serviceCidrs: ['10.0.0.0/24'],
      nodePorts: { from: 30000, to: 32767 },
      loopbackEndpoints: [],
      tokens: [{ token: 'secret', user: 'robot', uid: '7', groups: ['machines'] }],
      log: pino({ level: 'silent' }),
    });
    stack.defer(() => server.close());
  });
  after(() => stack.disposeAsync());

  const ask = ({ as, token, agent, headers = {} }: RequestSettings = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${server.url}${whoami}`,
        {
          method: 'POST',
          ca: [ca?.cert ?? '', otherCa?.cert ?? ''],
          agent: agent ?? false,
          headers: {
            'content-type': 'application/json',
            ...headers,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          ...(as === undefined ? {} : { cert: as.cert, key: as.key }),
        },
        (answer) => {
          text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(body) }), reject);
        },
      );
      sent.on('error', reject);
      sent.end('{}');
    });
  const userOf = async (requested: RequestSettings): Promise<unknown> => {
    const { status, body } = await ask(requested);
    return status === 201
      ? body.status.userInfo.username
      : status === 403
        ? /User "([^"]*)"/.exec(body.message)?.[1]
        : status;
  };

  const cases: readonly { name: string; as?: () => Promise<KeyPair>; token?: string; want: string | 401 }[] = [
    { name: 'no certificate', want: 'system:anonymous' },
    { name: 'a certificate', as: () => issued(alice), want: 'alice' },
    { name: 'an expired certificate', as: () => issued(alice, ca, new Date(Date.now() - 3 * day)), want: 401 },
    {
      name: 'a certificate that is not valid yet',
      as: () => issued(alice, ca, new Date(Date.now() + 2 * day)),
      want: 401,
    },
    { name: 'a certificate of another authority', as: () => issued(alice, otherCa), want: 401 },
    { name: 'a self-signed certificate', as: () => issueCa('alice', { now: new Date(), days: 1 }), want: 401 },
    { name: 'the certificate of a server', as: () => issued(serving), want: 401 },
    {
      name: 'a certificate without a common name',
      as: () => issued({ ...alice, commonName: '', groups: ['system:masters'] }),
      want: 'system:anonymous',
    },
    { name: 'a token', token: 'secret', want: 'robot' },
    { name: 'a wrong token', token: 'guess', want: 401 },
    { name: 'a token of another issuer', token: 'eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ.e30.AAAA', want: 401 },
    { name: 'a certificate and a token of different users', as: () => issued(alice), token: 'secret', want: 'alice' },
    { name: 'a certificate and a wrong token', as: () => issued(alice), token: 'guess', want: 'alice' },
    { name: 'a foreign certificate and a token', as: () => issued(alice, otherCa), token: 'secret', want: 'robot' },
    { name: 'a foreign certificate and a wrong token', as: () => issued(alice, otherCa), token: 'guess', want: 401 },
  ];
  for (const { name, as, token, want } of cases) {
    test(`${name}: ${want}`, async () => {
      const requested = { as: await as?.(), ...(token === undefined ? {} : { token }) };
      assert.equal(await userOf(requested), want);
    });
  }

  test('uses the common name as user, organisations as groups, and the digest as credential ID', async () => {
    const pair = await issued(alice);
    const { status, body } = await ask({ as: pair });
    assert.equal(status, 201);
    const { X509Certificate } = await import('node:crypto');
    const digest = new X509Certificate(pair.cert).fingerprint256.replaceAll(':', '').toLowerCase();
    assert.deepEqual(body.status.userInfo, {
      username: 'alice',
      groups: ['developers', 'cooks', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${digest}`] },
    });
  });

  test('accepts non-ASCII names', async () => {
    const groups = ['a, b', 'O=system:masters', 'CN=root', 'ä/ö"ü'];
    const { body } = await ask({ as: await issued({ use: 'client', commonName: 'J. Müller, CN=x', groups }) });
    assert.equal(body.status.userInfo.username, 'J. Müller, CN=x');
    assert.deepEqual(body.status.userInfo.groups, [...groups, 'system:authenticated']);
  });

  test('works the same over HTTP/2', async () => {
    const { cert, key } = await issued(alice);
    const session = connectHttp2(server.url, { ca: ca?.cert ?? '', cert, key });
    try {
      for (let count = 0; count < 2; count++) {
        const stream = session.request({ ':method': 'POST', ':path': whoami, 'content-type': 'application/json' });
        stream.end('{}');
        assert.match(await text(stream), /"username":"alice"/);
      }
    } finally {
      session.close();
    }
  });

  test('rejects a certificate that expires on an open connection', async (context) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const as = await issued(alice);
      assert.equal(await userOf({ as, agent }), 'alice');
      context.mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * day });
      assert.equal(await userOf({ as, agent }), 401);
    } finally {
      context.mock.timers.reset();
      agent.destroy();
    }
  });

  test('receives impersonation headers separately over both protocols', async () => {
    const as = await issued({ use: 'client', commonName: 'root', groups: ['system:masters'] });
    const headers = {
      'impersonate-user': 'bob',
      'impersonate-group': ['a,b', 'c'],
      'impersonate-extra-scopes': ['x', 'y'],
    };
    const want = {
      username: 'bob',
      groups: ['a,b', 'c', 'system:authenticated'],
      extra: { scopes: ['x', 'y'] },
    };
    const { body } = await ask({ as, headers });
    assert.deepEqual(body.status.userInfo, want);
    const session = connectHttp2(server.url, { ca: ca?.cert ?? '', cert: as.cert, key: as.key });
    try {
      const stream = session.request({
        ':method': 'POST',
        ':path': whoami,
        'content-type': 'application/json',
        ...headers,
      });
      stream.end('{}');
      assert.deepEqual((JSON.parse(await text(stream)) as Answer['body']).status.userInfo, want);
    } finally {
      session.close();
    }
  });

  test('applies changed authorities to open connections', async () => {
    assert.ok(ca !== undefined && otherCa !== undefined && presented !== undefined);
    const [old, next] = [await issued(alice), await issued({ ...alice, commonName: 'new-alice' }, otherCa)];
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const resuming = new Agent({ keepAlive: false }); // resumes the previous TLS session
    try {
      assert.deepEqual([await userOf({ as: old, agent }), await userOf({ as: next })], ['alice', 401]);
      assert.equal(await userOf({ as: old, agent: resuming }), 'alice');

      const renewed = await issued(serving, otherCa);
      server.renew({ ...renewed, ca: `${otherCa.cert}\n${ca.cert}` });
      assert.deepEqual([await userOf({ as: old, agent }), await userOf({ as: next })], ['alice', 'new-alice']);

      server.renew({ ...renewed, ca: otherCa.cert });
      assert.deepEqual([await userOf({ as: old, agent }), await userOf({ as: next })], [401, 'new-alice']);
      assert.equal(await userOf({ as: old }), 401);
      assert.equal(await userOf({ as: old, agent: resuming }), 401);
    } finally {
      agent.destroy();
      resuming.destroy();
      server.renew({ ...presented, ca: ca.cert });
    }
  });
});
