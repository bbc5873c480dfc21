import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ResourceRequest } from './request.ts';
import { isTrue, parseRequest } from './request.ts';

type Fields = Partial<
  Pick<ResourceRequest, 'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>
>;

suite('resource URLs', () => {
  const table: readonly [request: string, want: Fields][] = [
    ['GET /api/v1/services', { verb: 'list', resource: 'services' }],
    ['GET /api/v1/services/', { verb: 'list', resource: 'services' }],
    ['GET /api/v1/namespaces/shop/services', { verb: 'list', namespace: 'shop', resource: 'services' }],
    ['GET /api/v1/namespaces/shop/services/web', { verb: 'get', namespace: 'shop', resource: 'services', name: 'web' }],
    ['HEAD /api/v1/nodes/a', { verb: 'get', resource: 'nodes', name: 'a' }],
    [
      'PUT /api/v1/namespaces/shop/services/web/status',
      { verb: 'update', namespace: 'shop', resource: 'services', name: 'web', subresource: 'status' },
    ],
    [
      'GET /apis/discovery.k8s.io/v1/endpointslices',
      { verb: 'list', group: 'discovery.k8s.io', resource: 'endpointslices' },
    ],
    ['POST /api/v1/namespaces/shop/services', { verb: 'create', namespace: 'shop', resource: 'services' }],
    [
      'PATCH /api/v1/namespaces/shop/services/web',
      { verb: 'patch', namespace: 'shop', resource: 'services', name: 'web' },
    ],
    [
      'DELETE /api/v1/namespaces/shop/services/web',
      { verb: 'delete', namespace: 'shop', resource: 'services', name: 'web' },
    ],
    ['DELETE /api/v1/namespaces/shop/services', { verb: 'deletecollection', namespace: 'shop', resource: 'services' }],
    ['OPTIONS /api/v1/services', { verb: 'unsupported', resource: 'services' }],

    // A namespace is a resource and contains others.
    ['GET /api/v1/namespaces', { verb: 'list', resource: 'namespaces' }],
    ['GET /api/v1/namespaces/shop', { verb: 'get', resource: 'namespaces', name: 'shop' }],
    [
      'PUT /api/v1/namespaces/shop/finalize',
      { verb: 'update', resource: 'namespaces', name: 'shop', subresource: 'finalize' },
    ],
    [
      'GET /api/v1/namespaces/shop/status',
      { verb: 'get', resource: 'namespaces', name: 'shop', subresource: 'status' },
    ],
    ['GET /api/v1/namespaces/status/pods', { verb: 'list', namespace: 'status', resource: 'pods' }],
    ['GET /api/v1/namespaces/shop/namespaces', { verb: 'list', namespace: 'shop', resource: 'namespaces' }],

    // Watches by the query, or by the legacy path.
    ['GET /api/v1/pods?watch', { verb: 'watch', resource: 'pods' }],
    ['GET /api/v1/pods?watch=1', { verb: 'watch', resource: 'pods' }],
    ['GET /api/v1/pods?watch=yes', { verb: 'watch', resource: 'pods' }],
    ['GET /api/v1/pods?watch=False', { verb: 'list', resource: 'pods' }],
    ['GET /api/v1/pods?watch=0', { verb: 'list', resource: 'pods' }],
    ['GET /api/v1/nodes/a?watch=1', { verb: 'get', resource: 'nodes', name: 'a' }],
    ['GET /api/v1/watch/pods', { verb: 'watch', resource: 'pods' }],
    ['GET /api/v1/watch/namespaces/shop/pods', { verb: 'watch', namespace: 'shop', resource: 'pods' }],
    ['GET /api/v1/watch/namespaces/shop/pods/a', { verb: 'watch', namespace: 'shop', resource: 'pods', name: 'a' }],
    ['GET /api/v1/watch/namespaces/shop', { verb: 'watch', resource: 'namespaces', name: 'shop' }],
    ['POST /api/v1/watch/pods', { verb: 'unsupported', resource: 'pods' }],
    ['GET /api/v1/watch', { verb: 'list', resource: 'watch' }],

    // A field selector can name the object.
    ['GET /api/v1/pods?fieldSelector=metadata.name%3Da', { verb: 'list', resource: 'pods', name: 'a' }],
    [
      'GET /api/v1/pods?watch=1&fieldSelector=x%3Dy,metadata.name%3D%3Da',
      { verb: 'watch', resource: 'pods', name: 'a' },
    ],
    ['GET /api/v1/pods?fieldSelector=metadata.name!%3Da', { verb: 'list', resource: 'pods' }],
    ['GET /api/v1/pods?fieldSelector=metadata.namespace%3Da', { verb: 'list', resource: 'pods' }],
    ['DELETE /api/v1/pods?fieldSelector=metadata.name%3Da', { verb: 'deletecollection', resource: 'pods' }],

    // Segments are decoded separately, so an encoded slash remains part of the name.
    ['GET /api/v1/nodes/a%20b', { verb: 'get', resource: 'nodes', name: 'a b' }],
    ['GET /api/v1/nodes/a%2Fb', { verb: 'get', resource: 'nodes', name: 'a/b' }],
    ['GET /api/v1/nodes/%E2%82%AC', { verb: 'get', resource: 'nodes', name: '€' }],
    ['GET /api/v1/n%6Fdes', { verb: 'list', resource: 'nodes' }],
  ];
  for (const [request, want] of table) {
    test(request, () => {
      const [method = '', url = ''] = request.split(' ');
      const info = parseRequest(method, url);
      assert.ok(info.isResource);
      const { verb, group, version, resource, subresource, namespace, name } = info;
      assert.deepEqual(
        { verb, group, version, resource, subresource, namespace, name },
        { verb: 'get', group: '', version: 'v1', subresource: '', namespace: '', name: '', ...want },
      );
    });
  }
});

suite('non-resource URLs', () => {
  const urls = [
    '/',
    '/api',
    '/api/',
    '/api/v1',
    '/apis',
    '/apis/apps',
    '/apis/apps/v1',
    '/apis/apps/v1/',
    '/healthz',
    '/openapi/v3/api/v1',
    '/version?watch=1',
    '/apiv1/pods',
    '//api/v1/pods',
    '/api//v1/pods',
    '/api/v1/namespaces//pods',
    '/api/v1/pods/a/status/more',
    '/api/v1/nodes/%',
    '/api/v1/nodes/%ff',
    'api/v1/pods',
    '*',
  ];
  for (const url of urls) {
    test(url, () => {
      const { isResource, verb, path } = parseRequest('GET', url);
      assert.deepEqual({ isResource, verb, path }, { isResource: false, verb: 'get', path: url.split('?')[0] });
    });
  }
});

test('a query flag is true unless it is absent, false or 0', () => {
  const table: readonly [string | null, boolean][] = [
    [null, false],
    ['', true],
    ['1', true],
    ['true', true],
    ['x', true],
    ['0', false],
    ['false', false],
    ['FALSE', false],
  ];
  for (const [text, want] of table) assert.equal(isTrue(text), want, String(text));
});
