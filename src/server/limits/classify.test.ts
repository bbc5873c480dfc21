import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { parseRequest } from '../request.ts';
import { classify, costOf } from './classify.ts';

const users = {
  alice: { name: 'alice', uid: '', groups: ['system:authenticated'] },
  admin: { name: 'kubernetes-admin', uid: '', groups: ['system:masters', 'system:authenticated'] },
  anonymous: { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] },
} as const;

suite('priority levels', () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const table: readonly [user: keyof typeof users, request: string, want: string][] = [
    ['alice', 'GET /api/v1/namespaces/default/services/web', 'readOnly alice'],
    ['alice', 'GET /api/v1/services?watch=1', 'readOnly alice'],
    ['alice', 'GET /version', 'readOnly alice'],
    ['alice', 'POST /api/v1/namespaces/default/services', 'mutating alice'],
    ['alice', 'DELETE /api/v1/namespaces/default/services', 'mutating alice'],
    ['alice', 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'mutating alice'],
    ['alice', `POST ${leases}`, 'leases alice'],
    ['alice', `GET ${leases}/one`, 'leases alice'],
    ['alice', `PUT ${leases}/one`, 'leases alice'],
    ['alice', `PATCH ${leases}/one`, 'leases alice'],
    // Renewals address a single Lease; lists of Leases are ordinary reads.
    ['alice', `GET ${leases}`, 'readOnly alice'],
    ['alice', `GET ${leases}?watch=1&fieldSelector=metadata.name=one`, 'readOnly alice'],
    ['alice', `DELETE ${leases}/one`, 'mutating alice'],
    ['alice', 'GET /apis/other.example.org/v1/namespaces/a/leases/one', 'readOnly alice'],
    ['alice', 'GET /readyz', 'exempt alice'],
    ['admin', 'POST /api/v1/namespaces/default/services', 'exempt kubernetes-admin'],
    ['admin', `PUT ${leases}/one`, 'leases kubernetes-admin'],
    ['anonymous', 'GET /livez/ping', 'exempt system:anonymous@192.0.2.1'],
    ['anonymous', 'GET /livezilla', 'readOnly system:anonymous@192.0.2.1'],
    ['anonymous', 'GET /api/v1/services', 'readOnly system:anonymous@192.0.2.1'],
  ];
  for (const [user, request, want] of table) {
    test(`${user}: ${request}`, () => {
      const [method = '', url = ''] = request.split(' ');
      const { level, flow } = classify({ user: users[user], remoteAddress: '192.0.2.1' }, parseRequest(method, url));
      assert.equal(`${level} ${flow}`, want);
    });
  }
});

suite('an impersonated request uses the share and the priority level of the authenticated user', () => {
  const table: readonly [by: keyof typeof users, as: keyof typeof users, want: string][] = [
    ['alice', 'admin', 'readOnly alice'],
    ['alice', 'anonymous', 'readOnly alice'],
    ['admin', 'alice', 'exempt kubernetes-admin'],
  ];
  for (const [by, as, want] of table) {
    test(`${by} as ${as}`, () => {
      const sender = { user: users[as], impersonator: users[by], remote: '192.0.2.1' };
      const { level, flow } = classify(sender, parseRequest('GET', '/api/v1/services'));
      assert.equal(`${level} ${flow}`, want);
    });
  }
});

suite('the cost of a write grows with its body', () => {
  const table: readonly [bytes: number, want: number][] = [
    [0, 1],
    [256 * 1024, 1],
    [256 * 1024 + 1, 2],
    [3 * 1024 * 1024, 10],
    [1e12, 10],
  ];
  for (const [bytes, want] of table) {
    test(`${bytes} bytes`, () => {
      const info = parseRequest('POST', '/api/v1/namespaces/default/services');
      assert.equal(costOf(info, { objects: 10_000, bytes }), want);
    });
  }
});

suite('costs', () => {
  const services = '/api/v1/namespaces/default/services';
  const table: readonly [request: string, objects: number, want: number][] = [
    [`GET ${services}/web`, 10_000, 1],
    [`POST ${services}`, 10_000, 1],
    [`GET ${services}?watch=1`, 10_000, 1],
    ['GET /version', 10_000, 1],
    [`GET ${services}`, 0, 1],
    [`GET ${services}`, 200, 1],
    [`GET ${services}`, 1000, 5],
    [`GET ${services}`, 10_000, 10],
    [`GET ${services}?limit=500`, 10_000, 3],
    [`GET ${services}?limit=500`, 10, 1],
    [`GET ${services}?limit=0`, 10_000, 10],
    [`GET ${services}?limit=-7`, 10_000, 10],
    [`GET ${services}?limit=many`, 10_000, 10],
    [`DELETE ${services}`, 1000, 5],
  ];
  for (const [request, objects, want] of table) {
    test(`${request} of ${objects}`, () => {
      const [method = '', url = ''] = request.split(' ');
      assert.equal(costOf(parseRequest(method, url), { objects, bytes: 0 }), want);
    });
  }
});
