import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, intOrString, list, oneOf, optional, pointer, string, struct } from '../../../schema/schema.ts';

const networking = 'io.k8s.api.networking.v1';

const ipBlock = struct(`${networking}.IPBlock`, 'A range of addresses.', {
  cidr: always(1, string, 'The range, such as 192.0.2.0/24.', { required: true }),
  except: optional(2, list(string), 'Parts of the range that are left out.'),
});

const networkPolicyPeer = struct(`${networking}.NetworkPolicyPeer`, 'The other end of a connection.', {
  podSelector: pointer(1, labelSelector, 'Labels of Pods.'),
  namespaceSelector: pointer(2, labelSelector, 'Labels of their namespaces; default: this namespace.'),
  ipBlock: pointer(3, ipBlock, 'A range of addresses. Cannot be combined with selectors.'),
});

const networkPolicyPort = struct(`${networking}.NetworkPolicyPort`, 'A port or a range of ports.', {
  protocol: pointer(1, oneOf('TCP', 'UDP', 'SCTP'), 'TCP (the default), UDP or SCTP.'),
  port: pointer(2, intOrString, 'The number or name of the port; default: all.'),
  endPort: pointer(3, int32, 'The last port of a range that starts at port.'),
});

const ports = optional(1, list(networkPolicyPort), 'The ports; default: all.');

const networkPolicyIngressRule = struct(`${networking}.NetworkPolicyIngressRule`, 'Connections that are accepted.', {
  ports,
  from: optional(2, list(networkPolicyPeer), 'The sources; default: all.'),
});

const networkPolicyEgressRule = struct(`${networking}.NetworkPolicyEgressRule`, 'Connections that may be opened.', {
  ports,
  to: optional(2, list(networkPolicyPeer), 'The destinations; default: all.'),
});

const networkPolicySpec = struct(`${networking}.NetworkPolicySpec`, 'The Pods and their allowed connections.', {
  podSelector: always(1, labelSelector, 'Labels of the Pods that the policy isolates; empty: all of the namespace.'),
  ingress: optional(2, list(networkPolicyIngressRule), 'Connections that the Pods accept.'),
  egress: optional(3, list(networkPolicyEgressRule), 'Connections that the Pods may open.'),
  policyTypes: optional(
    4,
    list(oneOf('Ingress', 'Egress')),
    'The directions that the policy isolates; default: Ingress, and Egress if it has egress rules.',
  ),
});

export const networkPolicy = objectSchema(`${networking}.NetworkPolicy`, 'Describes which connections Pods may have.', {
  spec: always(2, networkPolicySpec, 'The Pods and their allowed connections.'),
});

export type NetworkPolicy = Infer<typeof networkPolicy>;
export type NetworkPolicyPort = Infer<typeof networkPolicyPort>;
export type NetworkPolicyPeer = Infer<typeof networkPolicyPeer>;
export type IpBlock = Infer<typeof ipBlock>;
