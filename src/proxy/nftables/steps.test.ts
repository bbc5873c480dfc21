import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { IpFamily } from '../../api/addresses.ts';
import { clients, isNode, routesOfService, targetsFor } from '../routes/testing/arbitrary.ts';
import type { Flow } from '../routes/decide.ts';
import { network } from '../routes/testing/objects.ts';
import type { Route } from '../routes/route.ts';
import { RoutingTable } from '../routes/table.ts';
import type { Element } from './elements.ts';
import { layerFour } from './elements.ts';
import type { PacketVerdict, Packet } from './testing/kernel.ts';
import { Kernel } from './testing/kernel.ts';
import type { Transactions } from './ruleset.ts';
import { Ruleset } from './ruleset.ts';
import { inSteps } from './steps.ts';
import type { Commit } from './testing/table.ts';

/** The possible targets of a client for all random numbers; undefined if it is not forwarded. */
function targetNames(table: RoutingTable, flow: Flow): ReadonlySet<string> | undefined {
  const targets = targetsFor(table, flow);
  const names = targets.flatMap((target) => (target === undefined ? [] : [`${target.address} ${target.port}`]));
  return names.length === targets.length ? new Set(names) : undefined;
}

/** Packets of clients that are served before and after, with their possible targets. */
function* servedThroughout(
  old: RoutingTable,
  next: RoutingTable,
  of: IpFamily,
): Iterable<{ readonly packet: Packet; readonly to: ReadonlySet<string> }> {
  for (const { family, address, protocol, port } of old.routes.values()) {
    if (family !== of) continue;
    for (const source of clients[family]) {
      const flow = { source, address, protocol, port };
      const [before, after] = [targetNames(old, flow), targetNames(next, flow)];
      if (before === undefined || after === undefined) continue;
      const isLocal = isNode(source);
      const packet = { saddr: source, daddr: address, protocol: layerFour(flow), dport: port, isLocal };
      yield { packet, to: before.union(after) };
    }
  }
}

/** The table before and after each transaction. */
function commits(kernel: Kernel, steps: Transactions): readonly Commit[] {
  return steps.map((step) => {
    const before = kernel.snapshot();
    kernel.run(step);
    return { before, after: kernel.snapshot() };
  });
}

/** The verdict for a packet at every moment of a commit. */
function* verdictsDuring(kernel: Kernel, commit: Commit, packet: Packet): Iterable<PacketVerdict> {
  for (let lookups = 0, isOver = true; isOver; lookups++) {
    const passed = kernel.passDuring(commit, lookups, packet);
    isOver = passed.isOver;
    yield passed.verdict;
  }
}

function tableWith(routes: readonly Route[]): RoutingTable {
  const table = new RoutingTable(network);
  table.set('Service shop/s1', routes);
  return table;
}

test('sends packets during a change to old or new targets only', () => {
  const changes = fc.record({ before: routesOfService(1), after: routesOfService(1), draw: fc.nat({ max: 3 }) });
  fc.assert(
    fc.property(changes, ({ before, after, draw }) => {
      const [old, next] = [tableWith(before), tableWith(after)];
      for (const family of ['IPv4', 'IPv6'] as const) {
        const ruleset = new Ruleset('t', family);
        ruleset.reset(before);
        const kernel = new Kernel();
        Object.assign(kernel, { isNode, draw: (of: number) => draw % of });
        kernel.run(ruleset.full(network));
        const steps = ruleset.apply({ removed: before, added: after });
        const moments = commits(kernel, [...steps, ruleset.full(network)]);
        for (const { packet, to } of servedThroughout(old, next, family)) {
          for (const verdict of moments.flatMap((moment) => [...verdictsDuring(kernel, moment, packet)])) {
            const name = typeof verdict === 'string' ? verdict : verdict.to;
            assert.ok(to.has(name), `${JSON.stringify(packet)} → ${name}`);
          }
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('adds source ranges with their restriction, changes them in one transaction, and removes them after it', () => {
  const front = '203.0.113.1 . tcp . 80';
  const restricted: Element = { set: 'restricted', key: front };
  const range = (text: string): Element => ({ set: 'allowed', key: `${front} . ${text}` });
  const [wide, half] = [range('10.0.0.0/8'), range('10.0.0.0/9')];
  const nothing = { first: [], gone: [], come: [], later: [] };
  assert.deepEqual(inSteps({ gone: [], come: [restricted, wide] }), { ...nothing, first: [restricted, wide] });
  // They overlap: never both.
  assert.deepEqual(inSteps({ gone: [wide], come: [half] }), { ...nothing, gone: [wide], come: [half] });
  assert.deepEqual(inSteps({ gone: [restricted, half], come: [] }), { ...nothing, gone: [restricted], later: [half] });
});
