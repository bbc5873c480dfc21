import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { selectorText } from '../../../selectors/label-selector.ts';
import { mapField } from '../../core/pod/defaults.ts';
import type { NetworkPolicy, NetworkPolicyPort } from './schema.ts';
import { networkPolicy } from './schema.ts';
import { policyErrors, policyWarnings } from './validate.ts';

export const networkPolicyKind = defineKind<NetworkPolicy>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  shortNames: ['netpol'],
  namespaced: true,
  schema: networkPolicy,
  generation: 'spec',
  withoutController: 'connections are not restricted',
  columns: [
    nameColumn,
    column('Pod-Selector', 'Labels of the Pods.', ({ spec }) => selectorText(spec.podSelector)),
    ageColumn,
  ],
  applyDefaults,
  validateCreate: (object, context) => policyErrors(object, undefined, context),
  validateUpdate: policyErrors,
  warnings: policyWarnings,
});

const withProtocol = (port: NetworkPolicyPort): NetworkPolicyPort => ({ ...port, protocol: port.protocol ?? 'TCP' });

function applyDefaults({ spec, ...rest }: NetworkPolicy): NetworkPolicy {
  const { policyTypes = [], egress = [] } = spec;
  const withIngress = mapField(spec, 'ingress', (rules) =>
    rules.map((rule) => mapField(rule, 'ports', (ports) => ports.map(withProtocol))),
  );
  const withEgress = mapField(withIngress, 'egress', (rules) =>
    rules.map((rule) => mapField(rule, 'ports', (ports) => ports.map(withProtocol))),
  );
  if (policyTypes.length > 0) return { ...rest, spec: withEgress };
  return {
    ...rest,
    spec: { ...withEgress, policyTypes: ['Ingress', ...(egress.length > 0 ? (['Egress'] as const) : [])] },
  };
}
