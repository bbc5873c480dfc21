import type { Registry } from 'prom-client';
import { Counter } from 'prom-client';
import { collectedGauge } from '../metrics/collected.ts';

export interface GatewayMetrics {
  readonly connections: Counter<'cluster' | 'direction' | 'result'>;
}

/** The metrics of a gateway. */
export function gatewayMetrics(
  registry: Registry,
  read: { readonly sessions: () => number; readonly peers: () => number },
): GatewayMetrics {
  collectedGauge(
    registry,
    'fairlead_gateway_sessions',
    'TLS sessions with gateways of other clusters, opened here.',
    read.sessions,
  );
  collectedGauge(
    registry,
    'fairlead_gateway_accepted_sessions',
    'TLS sessions that gateways of other clusters opened.',
    read.peers,
  );
  return {
    connections: new Counter({
      name: 'fairlead_gateway_connections_total',
      help: 'Connections with other clusters, by direction (in, out) and result (connected, failed, refused, datagrams).',
      labelNames: ['cluster', 'direction', 'result'],
      registers: [registry],
    }),
  };
}
