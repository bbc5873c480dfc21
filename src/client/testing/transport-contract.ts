import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport } from '../transport.ts';
import { hasStatusCode } from '../transport.ts';

/** Tests that every transport must pass. `open` returns a transport with administrator credentials. */
export function transportContract(title: string, open: () => Transport): void {
  const path = '/api/v1/namespaces/default/configmaps';

  test(`${title}: a response has status, lower-case headers and body, also for an error`, async () => {
    using transport = open();
    const body = JSON.stringify({ metadata: { name: 'ä' } });
    const refused = await transport.request({ method: 'POST', path, body });
    assert.equal(refused.status, 422);
    assert.match(refused.body, /"reason":"Invalid"/);
    const query = { limit: 1, continue: undefined };
    const list = await transport.request({ method: 'GET', path: '/api/v1/configmaps', query });
    assert.equal(list.status, 200);
    assert.equal(list.headers['content-type'], 'application/json');
    assert.match(list.body, /"continue":/);
  });

  test(`${title}: sends the media types of request and response`, async () => {
    using transport = open();
    const type = 'application/apply-patch+yaml';
    const query = { fieldManager: 'test', force: true };
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: typed }\n';
    const applied = await transport.request({ method: 'PATCH', path: `${path}/typed`, query, type, accept, body });
    assert.match(applied.body, /"kind":"PartialObjectMetadata"/);
  });

  test(`${title}: a stream yields one event per line, and throws if it is rejected`, async () => {
    using transport = open();
    const query = { watch: true, fieldSelector: 'metadata.name=kube-root-ca.crt' };
    let begun = 0;
    for await (const line of transport.stream({ method: 'GET', path, query, onBegin: () => begun++ })) {
      assert.equal(begun, 1);
      assert.match(line, /^\{"type":"ADDED".*\}$/);
      break;
    }
    const onBegin = (): void => assert.fail('the server rejected the stream');
    const refused = transport.stream({ method: 'GET', path, query: { watch: true, resourceVersion: 'x' }, onBegin });
    await assert.rejects(refused[Symbol.asyncIterator]().next(), (error) => hasStatusCode(error, 400));
  });

  test(`${title}: a signal ends a silent stream, and no request starts after it`, async () => {
    using transport = open();
    const stop = new AbortController();
    const call = {
      method: 'GET',
      path,
      query: { watch: true, labelSelector: 'none=such' },
      signal: stop.signal,
    } as const;
    const next = transport.stream(call)[Symbol.asyncIterator]().next();
    setImmediate(() => stop.abort(new Error('enough')));
    await assert.rejects(next);
    await assert.rejects(transport.request({ method: 'GET', path, signal: stop.signal }), { message: 'enough' });
  });
}
