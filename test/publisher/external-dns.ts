// The flags of ExternalDNS for a zone of a DNS server, as its documentation of the provider rfc2136 has them.
import type { Place } from '../dns/clients.ts';
import { key, zone } from './servers.ts';

/** Services to a zone by DNS updates. */
export const externalDnsFlags = (kubeconfig: string, { address, port }: Place): readonly string[] => [
  `--kubeconfig=${kubeconfig}`,
  '--source=service',
  '--provider=rfc2136',
  `--rfc2136-host=${address}`,
  `--rfc2136-port=${port}`,
  `--rfc2136-zone=${zone}`,
  `--rfc2136-tsig-keyname=${key.name}`,
  `--rfc2136-tsig-secret=${key.secret}`,
  `--rfc2136-tsig-secret-alg=${key.algorithm}`,
  '--rfc2136-axfr',
  '--registry=txt',
  '--metrics-address=127.0.0.1:0',
  '--log-level=warning',
];
