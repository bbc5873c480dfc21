import { spawnSync } from 'node:child_process';

import { ip, Namespace } from './namespace.ts';

/**
 * A node with two Pods, a Pod on another node, and a client outside:
 *
 *     client 192.0.2.9 ── 192.0.2.1 node ┬ 10.1.0.1 ── 10.1.0.11 podA
 *                                         ├ 10.1.0.1 ── 10.1.0.12 podB
 *                                         └ 10.1.1.1 ── 10.1.1.11 far
 *
 * The same in IPv6, under 2001:db8. Every Pod serves TCP and UDP on 8080 and responds with its name and the address of the client.
 */
export interface Cluster extends AsyncDisposable {
  readonly node: Namespace;
  readonly client: Namespace;
  readonly podA: Namespace;
  readonly podB: Namespace;
  readonly far: Namespace;
}

/** Why namespaces cannot be created here; undefined if they can. */
export function whyNoNamespaces(): readonly string[] {
  if (process.getuid?.() !== 0) return ['root must make network namespaces'];
  const missing = ['ip', 'nft', 'conntrack'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing.length > 0) return missing.map((program) => `${program} is not installed`);
  const name = `fl${process.pid}-try`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return ['network namespaces cannot be made'];
  spawnSync('ip', ['netns', 'delete', name]);
  return [];
}

/** A leaf: name, its addresses, and those of the node on the same link. */
const leaves = [
  { name: 'client', index: 0, own: ['192.0.2.9', '2001:db8:2::9'], node: ['192.0.2.1/24', '2001:db8:2::1/64'] },
  { name: 'podA', index: 1, own: ['10.1.0.11', '2001:db8:1::11'], node: ['10.1.0.1/32', '2001:db8:1::1/128'] },
  { name: 'podB', index: 2, own: ['10.1.0.12', '2001:db8:1::12'], node: ['10.1.0.1/32', '2001:db8:1::1/128'] },
  { name: 'far', index: 3, own: ['10.1.1.11', '2001:db8:3::11'], node: ['10.1.1.1/32', '2001:db8:3::1/128'] },
] as const;

/** Creates the cluster. */
export async function startCluster(): Promise<Cluster> {
  const stack = new AsyncDisposableStack();
  try {
    const named = (name: string): Namespace => stack.use(new Namespace(`fl${process.pid}-${name}`));
    const node = named('node');
    for (const [file, value] of [
      ['net.ipv4.ip_forward', '1'],
      ['net.ipv6.conf.all.forwarding', '1'],
    ] as const) {
      node.run('sysctl', '-qw', `${file}=${value}`);
    }
    const spaces = { client: named('client'), podA: named('podA'), podB: named('podB'), far: named('far') };
    for (const leaf of leaves) wire(node, spaces[leaf.name], leaf);
    for (const name of ['podA', 'podB', 'far'] as const) await spaces[name].execute({ do: 'serve', name, port: 8080 });
    const moved = stack.move();
    return { node, ...spaces, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

function wire(node: Namespace, space: Namespace, leaf: (typeof leaves)[number]): void {
  const link = `leaf${leaf.index}`;
  ip('-n', node.name, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space.name);
  for (const address of leaf.node) ip('-n', node.name, 'address', 'add', address, 'dev', link, ...nodad(address));
  ip('-n', node.name, 'link', 'set', link, 'up');
  ip('-n', space.name, 'link', 'set', 'eth0', 'up');
  for (const [index, address] of leaf.own.entries()) {
    const family = index === 0 ? '-4' : '-6';
    const bits = index === 0 ? 32 : 128;
    const gateway = (leaf.node[index] ?? '').split('/')[0] ?? '';
    ip('-n', space.name, 'address', 'add', `${address}/${bits}`, 'dev', 'eth0', ...nodad(address));
    ip('-n', space.name, family, 'route', 'add', `${gateway}/${bits}`, 'dev', 'eth0');
    ip('-n', space.name, family, 'route', 'add', 'default', 'via', gateway, 'dev', 'eth0');
    ip('-n', node.name, family, 'route', 'add', `${address}/${bits}`, 'dev', link);
  }
  // A default route to the outside, so that the node has a route for virtual addresses, as nodes do.
  if (leaf.name === 'client') {
    ip('-n', node.name, '-4', 'route', 'add', 'default', 'dev', link);
    ip('-n', node.name, '-6', 'route', 'add', 'default', 'dev', link);
  }
}

/** IPv6 addresses are usable at once, without duplicate address detection. */
const nodad = (address: string): readonly string[] => (address.includes(':') ? ['nodad'] : []);
