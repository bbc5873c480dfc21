import { UsageError } from '../errors.ts';
import { parsePort } from '../options/ports.ts';

/** Where things listen; 0 is any free port. */
export interface PortPlan {
  api(cluster: number): number;
  dns(cluster: number): number;
  readonly dashboard: number;
}

/** API 6443 and up, DNS 1053 and up, dashboard 8080. */
export const defaultPorts: PortPlan = {
  api: (cluster) => 6443 + cluster,
  dns: (cluster) => 1053 + cluster,
  dashboard: 8080,
};

const dnsOffset = 100;
const dashboardOffset = 200;

/** `--port-base N`: API at N and up, DNS at N+100 and up, the dashboard at N+200; with 0 every port is any free one. */
export function parsePortBase(text: string): PortPlan {
  const base = parsePort(text);
  if (base === 0) return { api: () => 0, dns: () => 0, dashboard: 0 };
  if (base + dashboardOffset > 65535) {
    throw new UsageError(
      `ports up to ${base + dashboardOffset} would be needed: expected at most ${65535 - dashboardOffset}`,
    );
  }
  return {
    api: (cluster) => base + cluster,
    dns: (cluster) => base + dnsOffset + cluster,
    dashboard: base + dashboardOffset,
  };
}
