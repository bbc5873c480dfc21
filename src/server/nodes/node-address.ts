import { failure, notFound } from '../../api/errors.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';

/** The types of addresses of a Node, in the order in which they are tried. kubeadm prefers InternalIP too: names rarely resolve. */
export const nodeAddressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;
export type NodeAddressType = (typeof nodeAddressTypes)[number];

/** The default of `--kubelet-preferred-address-types`. */
export const defaultAddressTypes: readonly NodeAddressType[] = nodeAddressTypes;

/** Where the server of a node listens. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

const defaultKubeletPort = 10_250;

/** The address of the server of a node: the first address of the first type that it has. */
export function nodeAddressOf(
  name: string,
  node: Node | undefined,
  preferred: readonly NodeAddressType[] = defaultAddressTypes,
): NodeAddress {
  if (node === undefined) throw notFound({ group: '', resource: 'nodes', name });
  const { addresses = [], daemonEndpoints } = node.status;
  const port = daemonEndpoints.kubeletEndpoint.Port;
  for (const type of preferred) {
    const found = addresses.find((address) => address.type === type);
    if (found !== undefined) return { host: found.address, port: port > 0 ? port : defaultKubeletPort };
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
  throw failure({ code: 500, message: `no preferred addresses found; known addresses: [${known}]` });
}
