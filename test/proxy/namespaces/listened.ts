// A cluster of namespaces with listeners in its node: the counterpart of routed.ts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { startCluster } from './cluster.ts';
import { ip } from './namespace.ts';
import type { Routed } from './routed.ts';
import { node } from './routed.ts';

const program = fileURLToPath(new URL('listeners.ts', import.meta.url));
/** Addresses that are local to the node: virtual addresses and those of load balancers. */
const ownRanges = ['10.96.0.0/16', '203.0.113.0/24', '2001:db8:96::/112', '2001:db8:5::/64'];

/** Creates the namespaces and the listeners. */
export async function startListened(): Promise<Pick<Routed, 'cluster' | 'route'> & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster());
  const { name } = cluster.node;
  for (const range of ownRanges) {
    ip('-n', name, range.includes(':') ? '-6' : '-4', 'route', 'add', 'local', range, 'dev', 'lo');
  }
  cluster.node.run('sysctl', '-qw', 'net.ipv6.ip_nonlocal_bind=1');
  const [command, ...args] = cluster.node.within(process.execPath);
  const proxy = spawn(command, [...args, program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(proxy, 'exit');
  stack.defer(async () => {
    proxy.stdin.end();
    await ended;
  });
  const answers = createInterface({ input: proxy.stdout })[Symbol.asyncIterator]();
  const moved = stack.move();
  return {
    cluster,
    route: async (service, slices = [], options = {}) => {
      proxy.stdin.write(`${JSON.stringify({ service, slices, node, options })}\n`);
      const { value } = await answers.next();
      assert.equal(value, '[]', 'nothing is in the way');
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}
