import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Backend, RouteChange, RouteProblem, RoutingState } from './backend.ts';
import { LoopbackBackend } from './loopback-backend.ts';
import { endpoint, network, node, service, slice } from './routes/testing/objects.ts';
import { routeKey } from './routes/route.ts';
import { routesOf } from './routes/routes.ts';
import { RoutingTable } from './routes/table.ts';

/** A backend that records the keys of its routes. */
class Keys implements Backend {
  readonly keys = new Set<string>();
  ranges: readonly string[] = [];
  isOpen = true;
  reported: readonly RouteProblem[] = [];

  async replace({ routes, network: { serviceRanges } }: RoutingState): Promise<void> {
    this.keys.clear();
    this.ranges = serviceRanges;
    for (const key of routes.keys()) this.keys.add(key);
  }

  async apply({ removed, added }: RouteChange, { routes }: RoutingState): Promise<void> {
    for (const route of removed) this.keys.delete(routeKey(route));
    for (const route of added) this.keys.add(routeKey(route));
    assert.deepEqual([...this.keys].sort(), [...routes.keys()].sort(), 'the state is its own part of it');
  }

  problems(): readonly RouteProblem[] {
    return this.reported;
  }

  async cleanup(): Promise<void> {
    this.keys.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOpen = false;
  }
}

/** A Service with a cluster IP and node ports at these addresses. */
function routes(...nodePortAddresses: readonly string[]): ReturnType<typeof routesOf> {
  const ports = [{ port: 80, protocol: 'TCP' as const, nodePort: 30080 }];
  const slices = [slice([endpoint('10.1.0.2')])];
  return routesOf({ service: service({ type: 'NodePort', ports }), slices, node: { ...node, nodePortAddresses } });
}

test('passes routes at loopback addresses to listeners, and all others to rules', async () => {
  const [rules, listeners, calls] = [new Keys(), new Keys(), [] as string[]];
  let opened = 0;
  const open = async (): Promise<Backend> => {
    opened++;
    return listeners;
  };
  const backend = new LoopbackBackend(rules, open, {
    loopback: (family, nodePorts) => calls.push(`${family} ${nodePorts}`),
    unopened: () => calls.push('unopened'),
  });
  const table = new RoutingTable({ ...network, serviceRanges: ['10.96.0.0/16', '127.64.0.0/16'] });
  await backend.replace(table);
  assert.deepEqual(rules.ranges, ['10.96.0.0/16'], 'rules do not drop what listeners answer');
  const change = async (...addresses: readonly string[]): Promise<void> => {
    table.set('Service shop/web', routes(...addresses));
    await backend.apply(table.takeChange(), table);
  };
  await change('192.0.2.1');
  assert.deepEqual([...rules.keys], ['10.96.0.10 TCP 80', '192.0.2.1 TCP 30080']);
  assert.equal(opened, 0);
  listeners.reported = [{ text: 'port 30080 is taken' }];
  await change('192.0.2.1', '127.0.0.1');
  await backend.replace(table);
  assert.equal(opened, 1);
  assert.deepEqual([...rules.keys], ['10.96.0.10 TCP 80', '192.0.2.1 TCP 30080']);
  assert.deepEqual([...listeners.keys], ['127.0.0.1 TCP 30080']);
  assert.deepEqual(backend.problems(), listeners.reported);
  await change('192.0.2.1');
  assert.deepEqual([...listeners.keys], []);
  assert.deepEqual(calls, ['IPv4 1', 'IPv6 0', 'unopened', 'IPv4 1', 'IPv6 0', 'IPv4 0', 'IPv6 0']);
  await backend.cleanup();
  await backend[Symbol.asyncDispose]();
  assert.deepEqual([rules.keys.size, rules.isOpen, listeners.isOpen], [0, false, false]);
});
