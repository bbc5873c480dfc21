import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../api/errors.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { Client } from '../../client/client.ts';
import type { ApiCall, Transport } from '../../client/transport.ts';
import { OptionalCache } from './optional-cache.ts';

/** A server that has some versions of ServiceImports, each with one object, and nothing else. */
function serving(...versions: readonly string[]): Transport {
  return {
    request: () => Promise.reject(failure({ code: 404, reason: 'NotFound', message: 'no list here' })),
    async *stream({ path, signal }: ApiCall): AsyncGenerator<string> {
      const version = versions.find((each) => path.includes(`/${each}/`));
      if (version === undefined) throw failure({ code: 404, reason: 'NotFound', message: `no ${path}` });
      const metadata = { namespace: 'shop', name: version, uid: version, resourceVersion: '1' };
      yield JSON.stringify({ type: 'ADDED', object: { metadata } });
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      yield JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1', annotations } } });
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    },
    [Symbol.dispose]: () => {},
  };
}

for (const { name, versions, want } of [
  { name: 'the newest version is followed', versions: ['v1beta1', 'v1alpha1'], want: ['v1beta1'] },
  { name: 'an older one where there is no other', versions: ['v1alpha1'], want: ['v1alpha1'] },
  { name: 'a cluster without the kind has none, and nobody waits for it', versions: [], want: [] },
]) {
  test(name, async () => {
    const stop = new AbortController();
    const errors: unknown[] = [];
    const cache = new OptionalCache<ServiceImport>(
      new Client(serving(...versions)),
      [serviceImportKind, serviceImportAlphaKind],
      (error) => errors.push(error),
    );
    const running = cache.run(stop.signal);
    await cache.settled(stop.signal);
    assert.deepEqual(
      cache.list().map(({ metadata }) => metadata.name),
      want,
    );
    for (const version of want) assert.ok(cache.get(`shop/${version}`));
    assert.deepEqual(errors, []);
    stop.abort();
    await running;
  });
}
