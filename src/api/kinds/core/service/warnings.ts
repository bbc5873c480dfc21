import { addressWarnings, cidrWarnings } from '../../../address-errors.ts';
import { isHeadless } from './facts.ts';
import type { Service, ServicePort } from './schema.ts';

const deprecatedHints =
  'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead';

/** Warnings about an accepted Service. */
export function warningsFor(service: Service, old: Service | undefined): string[] {
  const { metadata, spec } = service;
  const warnings: string[] = [];
  if (metadata.annotations?.['service.kubernetes.io/topology-aware-hints'] !== undefined) {
    warnings.push(deprecatedHints);
  }
  addForms(warnings, 'spec.clusterIPs', spec.clusterIPs, addressWarnings);
  addForms(warnings, 'spec.externalIPs', spec.externalIPs, addressWarnings);
  if (spec.loadBalancerIP !== undefined) warnings.push(...addressWarnings('spec.loadBalancerIP', spec.loadBalancerIP));
  addForms(warnings, 'spec.loadBalancerSourceRanges', spec.loadBalancerSourceRanges, cidrWarnings);
  if (isHeadless(service)) addHeadless(warnings, service);
  const isAlias = spec.type === 'ExternalName';
  if (isAlias && spec.externalIPs !== undefined && spec.externalIPs.length > 0) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (!isAlias && spec.externalName !== undefined && spec.externalName !== '') {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (isAlias && old?.spec.type !== 'ExternalName') addCertificate(warnings, service);
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}

/** Warnings about an accepted status. Paths are those of the ingress point, not of its address. */
export const statusWarningsFor = ({ status }: Service): string[] =>
  (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }, index) =>
    ip === '' ? [] : addressWarnings(`status.loadBalancer.ingress[${index}]`, ip),
  );

function addForms(
  warnings: string[],
  path: string,
  values: readonly string[] | undefined,
  check: (path: string, value: string) => readonly string[],
): void {
  values?.forEach((value, index) => warnings.push(...check(`${path}[${index}]`, value)));
}

function addHeadless(warnings: string[], { spec }: Service): void {
  const ignored = (field: string): unknown => warnings.push(`${field} is ignored for headless services`);
  if (spec.loadBalancerIP) ignored('spec.loadBalancerIP');
  if (spec.externalIPs !== undefined && spec.externalIPs.length > 0) ignored('spec.externalIPs');
  if (spec.sessionAffinity !== 'None') ignored('spec.SessionAffinity');
}

/** Clients of an alias still verify the certificate of the target against the name of the Service. */
function addCertificate(warnings: string[], { spec }: Service): void {
  const index = spec.ports?.findIndex(isForTls) ?? -1;
  if (index < 0) return;
  const { externalName = '' } = spec;
  warnings.push(
    `spec.ports[${index}]: the TLS certificate is that of "${externalName}", not of this Service: clients must use that server name`,
  );
}

const tlsProtocols: readonly string[] = ['https', 'tls', 'ssl', 'wss', 'grpcs', 'kubernetes.io/wss'];

const isForTls = ({ name = '', port, protocol = 'TCP', appProtocol = '' }: ServicePort): boolean =>
  protocol === 'TCP' && (port === 443 || tlsProtocols.includes(appProtocol) || /^(https|tls)(-|$)/.test(name));
