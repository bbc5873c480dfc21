import type { Registry } from 'prom-client';

import { collectedCounter, collectedGauge } from '../../metrics/collected.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Encryption } from './encryption.ts';

/** The metrics of encryption at rest, with the names of kube-apiserver where it has them. */
export function encryptionMetrics(
  registry: Registry,
  watchCache: WatchCache,
  encryption: Encryption | undefined,
): void {
  collectedGauge(registry, 'fairlead_storage_unreadable_objects', 'Stored objects that cannot be decrypted.', () =>
    Array.from(watchCache.caches, ({ kind, unreadable }) => [
      { resource: kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}` },
      unreadable.size,
    ]),
  );
  if (encryption === undefined) return;
  const operations = 'Values that were encrypted and decrypted, by key.';
  collectedCounter(registry, 'apiserver_storage_transformation_operations_total', operations, () =>
    Array.from(encryption.counts(), ([{ type, prefix, status }, count]) => [
      { transformation_type: type, transformer_prefix: prefix, status },
      count,
    ]),
  );
  const controller = 'apiserver_encryption_config_controller_automatic_reload';
  const reloads = 'Reloads of the encryption configuration.';
  collectedCounter(registry, `${controller}s_total`, reloads, () => [
    [{ status: 'success' }, encryption.reloads.success],
    [{ status: 'failure' }, encryption.reloads.failure],
  ]);
  const last = 'Time of the last reload of the encryption configuration; 0: never.';
  collectedGauge(registry, `${controller}_last_timestamp_seconds`, last, () => encryption.reloads.last / 1000);
}
