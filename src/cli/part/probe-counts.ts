import type { Registry } from 'prom-client';
import { Counter } from 'prom-client';

/** Counts what probes were answered, by code: `PREFIX_healthz_total` and `PREFIX_livez_total`. */
export function countProbes(registry: Registry, prefix: string): (path: string, status: number) => void {
  const counters = new Map(
    ['healthz', 'livez'].map((probe) => {
      const name = `${prefix}_${probe}_total`;
      const counter = new Counter({ name, help: `Answers of /${probe}.`, labelNames: ['code'], registers: [registry] });
      return [`/${probe}`, counter];
    }),
  );
  for (const counter of counters.values()) for (const code of ['200', '503']) counter.inc({ code }, 0);
  return (path, status) => counters.get(path)?.inc({ code: String(status) });
}
