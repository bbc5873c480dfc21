import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { IpFamily } from '../../api/addresses.ts';
import { clients, routesOfService } from '../routes/arbitrary.fixture.ts';
import type { Flow } from '../routes/decide.ts';
import { decide, originOf, rulesFor } from '../routes/decide.ts';
import { network } from '../routes/objects.fixture.ts';
import type { Target } from '../routes/route.ts';
import { RoutingTable } from '../routes/table.ts';
import { layerFour } from './elements.ts';
import type { Fate } from './kernel.fixture.ts';
import { Kernel } from './kernel.fixture.ts';
import { Ruleset } from './ruleset.ts';

const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const fateText = (fate: Fate): string =>
  typeof fate === 'string' ? fate : `${fate.to}${fate.isMasqueraded ? ' masqueraded' : ''}`;

/** What the table says of a flow, in one line. */
function decision(table: RoutingTable, flow: Flow, random: number, pinned?: Pick<Target, 'address' | 'port'>): string {
  const verdict = decide(table, flow, { random: () => random, pinned });
  if (verdict.type !== 'forward') return verdict.type;
  const { target, masquerade } = verdict;
  return fateText({ to: `${target.address} ${target.port}`, isMasqueraded: masquerade });
}

/** Whom a client of a route is sent to, each as often as it weighs; nobody in particular if it is not sent anywhere. */
function targetsFor(table: RoutingTable, flow: Flow): readonly (Target | undefined)[] {
  const verdict = decide(table, flow, { random: () => 0 });
  if (verdict.type !== 'forward') return [undefined];
  const { action } = rulesFor(verdict.route, originOf(table.network, flow.source));
  if (action.type !== 'forward') return [undefined];
  return action.targets.flatMap((target) => Array.from({ length: target.weight }, () => target));
}

/** Every client connects to every frontend, and to what nobody has, with every number that could be drawn. */
function compare(table: RoutingTable, kernels: ReadonlyMap<IpFamily, Kernel>): void {
  const strangers = [
    { family: 'IPv4' as const, address: '10.96.0.200', protocol: 'TCP' as const, port: 80 },
    { family: 'IPv4' as const, address: '10.96.0.1', protocol: 'TCP' as const, port: 81 },
    { family: 'IPv6' as const, address: '2001:db8:96::1', protocol: 'UDP' as const, port: 81 },
    { family: 'IPv6' as const, address: '2001:db8:ffff::9', protocol: 'UDP' as const, port: 80 },
  ];
  for (const { family, address, protocol, port } of [...table.routes.values(), ...strangers]) {
    const kernel = kernels.get(family);
    assert.ok(kernel);
    for (const source of clients[family]) {
      const flow = { source, address, protocol, port };
      const targets = targetsFor(table, flow);
      const count = targets.length;
      const packet = { saddr: source, daddr: address, protocol: layerFour({ protocol }), dport: port };
      const pass = (slot: number): string => {
        kernel.draw = (of) => slot % of;
        return fateText(kernel.pass({ ...packet, isLocal: network.addresses.has(source) }));
      };
      const forget = (): void => {
        for (const [name, pins] of kernel.sets) if (name.startsWith('pins-')) pins.clear();
      };
      const slots = Array.from({ length: count }, (_, slot) => slot);
      const made = slots.map((slot) => {
        forget();
        return pass(slot);
      });
      const wanted = slots.map((slot) => decision(table, flow, (slot + 0.5) / count));
      assert.deepEqual(made.toSorted(), wanted.toSorted(), JSON.stringify(flow));
      // Whoever was there before comes back, whatever is drawn.
      forget();
      const [to = '', toPort = ''] = pass(0).split(' ');
      const first = targets.find((target) => target?.address === to && target.port === Number(toPort));
      if (first === undefined || first.stickySeconds === 0) continue;
      for (const slot of slots) assert.equal(pass(slot), decision(table, flow, (slot + 0.5) / count, first));
    }
  }
}

test('rules and table decide alike about every client, address and port, after every change', () => {
  const steps = fc.array(
    fc
      .record({
        host: fc.integer({ min: 1, max: 3 }),
        // A full load in between must not be noticed.
        isReload: fc.boolean(),
        kind: fc.constantFrom('set', 'set', 'set', 'delete'),
      })
      .chain((step) => routesOfService(step.host).map((routes) => ({ ...step, routes }))),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(steps, fc.boolean(), (given, masqueradeAll) => {
      const table = new RoutingTable({ ...network, masqueradeAll });
      const rulesets = families.map((family) => new Ruleset('t', family));
      const kernels = new Map(families.map((family) => [family, new Kernel()]));
      for (const kernel of kernels.values()) kernel.isNode = (address) => network.addresses.has(address);
      const load = (): void => {
        for (const ruleset of rulesets) kernels.get(ruleset.family)?.run(ruleset.full(table.network));
      };
      load();
      for (const { host, routes, kind, isReload } of given) {
        table.set(`Service shop/s${host}`, kind === 'delete' ? [] : routes);
        const change = table.takeChange();
        for (const ruleset of rulesets) kernels.get(ruleset.family)?.run(ruleset.apply(change));
        if (isReload) load();
        compare(table, kernels);
      }
    }),
    { numRuns: 40 },
  );
});

test('what is gone leaves nothing behind, and a full load drops chains that nothing leads to', () => {
  fc.assert(
    fc.property(routesOfService(1), routesOfService(2), (first, second) => {
      for (const family of families) {
        const ruleset = new Ruleset('t', family);
        const kernel = new Kernel();
        kernel.run(ruleset.full(network));
        const empty = kernel.chainNames.length;
        kernel.run(ruleset.apply({ removed: [], added: [...first, ...second] }));
        kernel.run(ruleset.apply({ removed: [...first, ...second], added: [] }));
        for (const [name, members] of kernel.sets) {
          if (name !== 'pods' && name !== 'service-ranges') assert.deepEqual([...members], [], name);
        }
        kernel.run(ruleset.full(network));
        assert.equal(kernel.chainNames.length, empty);
        assert.equal(
          [...ruleset.sizes().values()].reduce((sum, size) => sum + size, 0),
          0,
        );
      }
    }),
    { numRuns: 40 },
  );
});

test('one endpoint more or less is a handful of elements, however many there are', () => {
  const targets = Array.from({ length: 1000 }, (_, index): Target => ({
    address: `10.1.${index >> 8}.${index & 255}`,
    port: 8080,
    weight: 1,
    stickySeconds: 0,
    isHere: false,
  }));
  const route = (of: readonly Target[]) => ({
    owner: 'Service shop/web',
    portName: '',
    kind: 'clusterIP' as const,
    family: 'IPv4' as const,
    address: '10.96.0.1',
    protocol: 'TCP' as const,
    port: 80,
    action: { type: 'forward' as const, targets: of },
    masquerade: 'outsiders' as const,
  });
  const ruleset = new Ruleset('t', 'IPv4');
  ruleset.reset([route(targets)]);
  const without = targets.filter((_, index) => index !== 10);
  const removal = ruleset.apply({ removed: [route(targets)], added: [route(without)] });
  assert.deepEqual(
    removal.filter((command) => command.includes(' element ')),
    [
      'delete element ip t services { 10.96.0.1 . tcp . 80 }',
      'delete element ip t slots-tcp { 10.96.0.1 . 80 . 10, 10.96.0.1 . 80 . 999 }',
      'add element ip t services { 10.96.0.1 . tcp . 80 : goto pick-tcp-999 }',
      'add element ip t slots-tcp { 10.96.0.1 . 80 . 10 : 10.1.3.231 . 8080 }',
    ],
  );
});
