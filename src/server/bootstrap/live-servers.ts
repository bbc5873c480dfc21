import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import { serversPrefix } from '../../store/backup/snapshot.ts';
import type { Store } from '../../store/store.ts';
import { layoutOf } from '../cache/layout.ts';
import { storedForm } from '../cache/stored-form.ts';
import type { ServerAddress } from './objects.ts';

/** As in kube-apiserver: how long a server that was killed stays in the endpoints of `kubernetes`. */
const ttlSeconds = 15;

/** The servers that run over a shared store: each writes a key that expires, and reads those of the others. */
export class LiveServers {
  readonly #store: Store;
  readonly #own: ServerAddress;

  constructor(store: Store, own: ServerAddress) {
    this.#store = store;
    this.#own = own;
  }

  /** Announces this server until the key expires, and returns all servers. */
  async announce(): Promise<readonly ServerAddress[]> {
    if (!this.#store.isShared) return [this.#own];
    await this.#store.commit([{ key: this.#key(), value: leaseOf(this.#own), ttlSeconds }]);
    return this.#all();
  }

  /** Removes this server, and returns the others. */
  async withdraw(): Promise<readonly ServerAddress[]> {
    if (!this.#store.isShared) return [this.#own];
    await this.#store.commit([{ key: this.#key(), value: undefined }]);
    return this.#all();
  }

  /** The servers that run, except this one. */
  async others(): Promise<readonly ServerAddress[]> {
    if (!this.#store.isShared) return [];
    const { address, port } = this.#own;
    return (await this.#all()).filter((server) => server.address !== address || server.port !== port);
  }

  async #all(): Promise<readonly ServerAddress[]> {
    const { entries } = await this.#store.range(serversPrefix);
    return entries.flatMap(({ value }) => addressesIn(value, this.#own.port));
  }

  /** Servers on one machine differ in their ports. */
  #key(): string {
    return `${serversPrefix}${this.#own.address}:${this.#own.port}`;
  }
}

/** The content of a key: Endpoints, as kube-apiserver writes them. */
const leaseOf = ({ address, port }: ServerAddress): string =>
  JSON.stringify({
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: {},
    subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  });

interface Lease {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip: string }[];
    readonly ports?: readonly { readonly port: number }[];
  }[];
}

const endpointsLayout = layoutOf(endpointsKind);

/** A kube-apiserver announces no port: it expects that of the others to be its own. */
function addressesIn(value: string, defaultPort: number): readonly ServerAddress[] {
  try {
    // As `leaseOf` or a kube-apiserver writes it.
    const { subsets = [] } = JSON.parse(storedForm(endpointsKind, endpointsLayout, value)) as Lease;
    return subsets.flatMap(({ addresses = [], ports = [{ port: defaultPort }] }) =>
      addresses.flatMap(({ ip }) => ports.map(({ port }) => ({ address: ip, port }))),
    );
  } catch {
    return []; // another program wrote the key
  }
}
