import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';

import type { AuditLog } from './log.ts';

/** What was written down and what was lost, under the names of kube-apiserver. */
export function auditMetrics(registers: Registry[], log: AuditLog | undefined): void {
  new Counter({
    name: 'apiserver_audit_event_total',
    help: 'Events given to the audit log.',
    registers,
    collect() {
      this.reset();
      this.inc(log?.counts.lines ?? 0);
    },
  });
  new Counter({
    name: 'apiserver_audit_error_total',
    help: 'Events that the audit log has lost: the disk was full or too slow.',
    labelNames: ['plugin'],
    registers,
    collect() {
      this.reset();
      this.inc({ plugin: 'log' }, log?.counts.dropped ?? 0);
    },
  });
}
