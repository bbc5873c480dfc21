import type { Registry } from 'prom-client';

import { collectedCounter } from '../../metrics/collected.ts';
import type { AuditLog } from './log.ts';

/** The metrics of the audit log, with the names of kube-apiserver. */
export function auditMetrics(registry: Registry, log: AuditLog | undefined): void {
  const events = 'Events passed to the audit log.';
  collectedCounter(registry, 'apiserver_audit_event_total', events, () => log?.counts.lines ?? 0);
  const lost = 'Events that the audit log dropped because the disk was full or too slow.';
  collectedCounter(registry, 'apiserver_audit_error_total', lost, () => [
    [{ plugin: 'log' }, log?.counts.dropped ?? 0],
  ]);
}
