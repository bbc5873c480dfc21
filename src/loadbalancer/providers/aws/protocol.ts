import type { Protocol } from '../../../api/kinds/core/service/schema.ts';

/** Protocols that listeners and target groups of network load balancers have. */
export type ElbProtocol = 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS';

const served: Readonly<Record<ElbProtocol, readonly Protocol[]>> = {
  TCP: ['TCP'],
  TLS: ['TCP'],
  UDP: ['UDP'],
  TCP_UDP: ['TCP', 'UDP'],
};

/** The protocols of ports that a listener serves. */
export const protocolsOf = (protocol: string): readonly Protocol[] =>
  protocol in served ? served[protocol as ElbProtocol] : []; // A cast that `in` has checked.
