import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { managedBy } from '../project/labels.ts';
import { SharedEndpoints } from './shared-endpoints.ts';

const endpoint: Endpoint = { addresses: ['10.1.0.1'], conditions: { ready: true }, nodeName: 'a' };
const targetRef = { kind: 'Pod', name: 'web-1' };

const slice = (endpoints: readonly Endpoint[], labels: Record<string, string> = {}): EndpointSlice => ({
  metadata: { namespace: 'shop', name: 'web-abc', labels },
  addressType: 'IPv4',
  endpoints,
  ports: [],
});
const ours = { [managedByLabel]: managedBy };

describe('shared endpoints', () => {
  test('shares one list between a source and its mirrors', () => {
    const shared = new SharedEndpoints();
    const source = shared.in(slice([{ ...endpoint, targetRef }]));
    const mirror = shared.in(slice([{ ...endpoint }], ours));
    assert.deepEqual(source.endpoints, [endpoint]);
    assert.equal(mirror.endpoints, source.endpoints);
  });

  test('does not share different lists', () => {
    const shared = new SharedEndpoints();
    const one = shared.in(slice([endpoint]));
    const other = shared.in(slice([{ ...endpoint, conditions: { ready: false } }]));
    assert.notEqual(one.endpoints, other.endpoints);
    assert.deepEqual(other.endpoints, [{ ...endpoint, conditions: { ready: false } }]);
  });

  test('shows an edit of a mirror', () => {
    const edited = new SharedEndpoints().in(slice([{ ...endpoint, targetRef }], ours));
    assert.deepEqual(edited.endpoints, [{ ...endpoint, targetRef }]);
  });
});
