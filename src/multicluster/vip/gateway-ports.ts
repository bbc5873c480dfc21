// Allocates the ports under which the gateways of a cluster offer services of other clusters.
import { createHash } from 'node:crypto';
import type { GatewayReplica } from '../../api/kinds/multicluster/gateway.ts';
import { egressPorts } from '../../api/kinds/multicluster/gateway.ts';

/** A port of a service of another cluster. */
export interface RemotePort {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: string;
  readonly protocol: string;
}

/** The gateway of an importing cluster. */
export interface LocalGateway {
  readonly replicas: readonly GatewayReplica[];
  /** The port for a service of another cluster; undefined: none is free. */
  readonly portOf: (remote: RemotePort) => number | undefined;
}

/** Ports in use by existing slices. */
export type PortsInUse = () => Iterable<readonly [RemotePort, number]>;

const size = egressPorts.last - egressPorts.first + 1;

const textOf = ({ cluster, namespace, name, port, protocol }: RemotePort): string =>
  [cluster, namespace, name, protocol, port].join('/');

/**
 * The ports of the gateways of one cluster. Existing slices are the source of truth: they are read before the first allocation, and
 * again when no port is free. The search starts at a hash of the service, so that a re-created service is likely to get its previous one.
 */
export class GatewayPorts {
  readonly #inUse: PortsInUse;
  /** Service port → port of the gateways, and the inverse. */
  #ports: Map<string, number> | undefined;
  #owners = new Map<number, string>();

  constructor(inUse: PortsInUse) {
    this.#inUse = inUse;
  }

  /** The port of a service; undefined: none is free. */
  portOf(remote: RemotePort): number | undefined {
    const ports = this.#ports ?? this.#read();
    const key = textOf(remote);
    return ports.get(key) ?? this.#allocate(key) ?? this.#read().get(key) ?? this.#allocate(key);
  }

  /** Reads the ports again, because another controller may have allocated some. */
  reset(): void {
    this.#ports = undefined;
  }

  #read(): Map<string, number> {
    const ports = new Map<string, number>();
    this.#owners = new Map();
    for (const [remote, port] of this.#inUse()) {
      if (port < egressPorts.first || port > egressPorts.last || this.#owners.has(port)) continue;
      ports.set(textOf(remote), port);
      this.#owners.set(port, textOf(remote));
    }
    this.#ports = ports;
    return ports;
  }

  #allocate(key: string): number | undefined {
    const start = createHash('sha256').update(key).digest().readUInt32BE(0) % size;
    for (let step = 0; step < size; step++) {
      const port = egressPorts.first + ((start + step) % size);
      if (this.#owners.has(port)) continue;
      this.#owners.set(port, key);
      this.#ports?.set(key, port);
      return port;
    }
    return undefined;
  }
}
