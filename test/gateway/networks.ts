// Three clusters in network namespaces: two with the same addresses behind NAT, and one that can be dialled.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ip, Namespace } from '../proxy/namespaces/namespace.ts';

/**
 *     east 10.0.0.2, 10.0.0.3 ─ 10.0.0.1 NAT 192.0.2.10 ┐
 *     west 10.0.0.2, 10.0.0.3 ─ 10.0.0.1 NAT 192.0.2.20 ┼ bridge ─ 192.0.2.30, 192.0.2.31 north
 *
 * Each is the only node of its cluster, with Pods at 10.1.0.11 and 10.1.0.12 in all of them. NAT forwards nothing inwards.
 */
export interface Networks extends AsyncDisposable {
  readonly east: Namespace;
  readonly west: Namespace;
  readonly north: Namespace;
}

export type ClusterName = 'east' | 'west' | 'north';

export const clusterNames: readonly ClusterName[] = ['east', 'west', 'north'];

/** The addresses of the two gateway replicas in each cluster. */
export const gatewayAddresses: Readonly<Record<ClusterName, readonly [string, string]>> = {
  east: ['10.0.0.2', '10.0.0.3'],
  west: ['10.0.0.2', '10.0.0.3'],
  north: ['192.0.2.30', '192.0.2.31'],
};

export const podAddresses = ['10.1.0.11', '10.1.0.12'] as const;

const natRules = `
table ip nat { chain post { type nat hook postrouting priority 100; oifname "out" masquerade; }; }
table ip filter { chain forward { type filter hook forward priority 0; policy drop; ct state established,related accept; iifname "in" accept; }; }
`;

export async function startNetworks(directory: string): Promise<Networks> {
  const stack = new AsyncDisposableStack();
  try {
    const named = (name: string): Namespace => stack.use(new Namespace(`fl${process.pid}-${name}`));
    const net = named('net');
    ip('-n', net.name, 'link', 'add', 'bridge', 'type', 'bridge');
    ip('-n', net.name, 'link', 'set', 'bridge', 'up');
    let ports = 0;
    const plug = (space: Namespace, device: string, addresses: readonly string[]): void => {
      const port = `port${ports++}`;
      ip('-n', net.name, 'link', 'add', port, 'type', 'veth', 'peer', 'name', device, 'netns', space.name);
      ip('-n', net.name, 'link', 'set', port, 'master', 'bridge', 'up');
      for (const address of addresses) ip('-n', space.name, 'address', 'add', `${address}/24`, 'dev', device);
      ip('-n', space.name, 'link', 'set', device, 'up');
    };
    const behindNat = async (name: 'east' | 'west', outside: string): Promise<Namespace> => {
      const [space, nat] = [named(name), named(`${name}-nat`)];
      plug(nat, 'out', [outside]);
      ip('-n', nat.name, 'link', 'add', 'in', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space.name);
      ip('-n', nat.name, 'address', 'add', '10.0.0.1/24', 'dev', 'in');
      ip('-n', nat.name, 'link', 'set', 'in', 'up');
      for (const address of gatewayAddresses[name])
        ip('-n', space.name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
      ip('-n', space.name, 'link', 'set', 'eth0', 'up');
      ip('-n', space.name, 'route', 'add', 'default', 'via', '10.0.0.1');
      nat.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
      const rules = join(directory, `${name}.nft`);
      await writeFile(rules, natRules);
      nat.run('nft', '-f', rules);
      return space;
    };
    const spaces = {
      east: await behindNat('east', '192.0.2.10'),
      west: await behindNat('west', '192.0.2.20'),
      north: named('north'),
    };
    plug(spaces.north, 'eth0', gatewayAddresses.north);
    for (const space of Object.values(spaces)) {
      for (const address of podAddresses) ip('-n', space.name, 'address', 'add', `${address}/32`, 'dev', 'lo');
      stack.defer(await resolveWith(space));
    }
    const moved = stack.move();
    return { ...spaces, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Makes programs in a namespace resolve names with the DNS server of its cluster. */
async function resolveWith(space: Namespace): Promise<() => Promise<void>> {
  const directory = `/etc/netns/${space.name}`;
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'resolv.conf'), 'nameserver 127.0.0.53\n');
  space.run('nft', 'add table ip resolver');
  space.run('nft', 'add chain ip resolver output { type nat hook output priority -100; }');
  space.run('nft', `add rule ip resolver output ip daddr 127.0.0.53 udp dport 53 redirect to :${dnsPort}`);
  return () => rm(directory, { recursive: true, force: true });
}

/** The ports of `up` in each namespace. */
export const apiPort = 6443;
const dnsPort = apiPort + 100;
