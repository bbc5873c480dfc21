import { addressWarnings } from '../../../address-errors.ts';
import { ageColumn, column, truncatedList, nameColumn } from '../../../columns.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { Ingress } from './schema.ts';
import { ingress } from './schema.ts';
import { classAnnotation, validateCreate, validateStatus, validateUpdate } from './validate.ts';

function warnings({ metadata, spec }: Ingress, old: Ingress | undefined): string[] {
  const isNew = old === undefined && metadata.annotations?.[classAnnotation] !== undefined;
  if (!isNew || spec.ingressClassName !== undefined) return [];
  return [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`];
}

/** The first three hosts of an Ingress; `*` for all hosts. */
function hostsText({ spec: { rules = [] } }: Ingress): string {
  return rules.length === 0
    ? '*'
    : truncatedList(
        3,
        rules.map(({ host }) => host || '*'),
      );
}

function addressText({ status }: Ingress): string {
  const entries = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  return [...new Set(entries)]
    .filter((entry) => entry !== '')
    .sort()
    .join(',');
}

/** Ingress of networking.k8s.io/v1. */
export const ingressKind: Kind<Ingress> = defineKind<Ingress>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  shortNames: ['ing'],
  namespaced: true,
  schema: ingress,
  hasStatus: true,
  generation: 'spec',
  columns: [
    nameColumn,
    column<Ingress>('Class', 'The class that serves this Ingress.', ({ metadata, spec }) => {
      return spec.ingressClassName ?? metadata.annotations?.[classAnnotation] ?? '<none>';
    }),
    column<Ingress>('Hosts', 'The hosts of the rules.', hostsText),
    column<Ingress>('Address', 'The addresses of the load balancer.', addressText),
    column<Ingress>('Ports', 'The ports.', ({ spec }) => (spec.tls?.length ? '80, 443' : '80')),
    ageColumn,
  ],
  prepareForCreate: (object) => ({ ...object, status: { loadBalancer: {} } }),
  validateCreate,
  validateUpdate,
  validateStatus,
  warnings,
  statusWarnings: ({ status }) =>
    (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }, index) =>
      addressWarnings(`status.loadBalancer.ingress[${index}]`, ip),
    ),
});
