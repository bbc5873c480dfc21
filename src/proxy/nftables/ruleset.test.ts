import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { IpFamily } from '../../api/addresses.ts';
import { clients, isNode, routesOfService, targetsFor } from '../routes/testing/arbitrary.ts';
import type { Flow } from '../routes/decide.ts';
import { decide } from '../routes/decide.ts';
import { network } from '../routes/testing/objects.ts';
import type { Target } from '../routes/route.ts';
import { RoutingTable } from '../routes/table.ts';
import { layerFour } from './elements.ts';
import type { PacketVerdict } from './testing/kernel.ts';
import { Kernel } from './testing/kernel.ts';
import { Ruleset } from './ruleset.ts';

const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const verdictText = (verdict: PacketVerdict): string =>
  typeof verdict === 'string' ? verdict : `${verdict.to}${verdict.isMasqueraded ? ' masqueraded' : ''}`;

/** The verdict of the table for a flow, in one line. */
function decision(
  table: RoutingTable,
  flow: Flow,
  random: number,
  affinityTarget?: Pick<Target, 'address' | 'port'>,
): string {
  const verdict = decide(table, flow, { random: () => random, affinityTarget });
  if (verdict.type !== 'forward') return verdict.type;
  const { target, masquerade } = verdict;
  return verdictText({ to: `${target.address} ${target.port}`, isMasqueraded: masquerade });
}

/** An address without an owner. */
const strangers = [
  { family: 'IPv4', address: '10.96.0.200', protocol: 'TCP', port: 80 },
  { family: 'IPv4', address: '10.96.0.1', protocol: 'TCP', port: 81 },
  { family: 'IPv6', address: '2001:db8:96::1', protocol: 'UDP', port: 81 },
  { family: 'IPv6', address: '2001:db8:ffff::9', protocol: 'UDP', port: 80 },
] as const;

/** Connects every client to every frontend and to unused addresses, with every random number. */
function compare(table: RoutingTable, kernels: ReadonlyMap<IpFamily, Kernel>): void {
  for (const { family, address, protocol, port } of [...table.routes.values(), ...strangers]) {
    const kernel = kernels.get(family);
    assert.ok(kernel);
    for (const source of clients[family]) {
      const comparison = new Comparison(table, kernel, { source, address, protocol, port });
      comparison.choosesSameTargets();
      comparison.keepsSameTargets();
      comparison.ignoresForeignPriorities();
    }
  }
}

/** One client and one frontend, by the rules and by the table. */
class Comparison {
  readonly #table: RoutingTable;
  readonly #kernel: Kernel;
  readonly #flow: Flow;
  readonly #targets: readonly (Target | undefined)[];
  readonly #slots: readonly number[];

  constructor(table: RoutingTable, kernel: Kernel, flow: Flow) {
    this.#table = table;
    this.#kernel = kernel;
    this.#flow = flow;
    this.#targets = targetsFor(table, flow);
    this.#slots = [...this.#targets.keys()];
  }

  choosesSameTargets(): void {
    const made = this.#slots.map((slot) => {
      this.#clearAffinity();
      return this.#pass(slot);
    });
    const wanted = this.#slots.map((slot) => this.#decided(slot));
    assert.deepEqual(made.toSorted(), wanted.toSorted(), JSON.stringify(this.#flow));
  }

  keepsSameTargets(): void {
    this.#clearAffinity();
    this.#keepsTarget(0);
    // The target of a client was removed: another one is chosen and stored in its place.
    for (const entries of this.#entries()) for (const key of entries.keys()) entries.set(key, '1');
    if (this.#entries().some(({ size }) => size > 0)) this.#keepsTarget(this.#slots.length - 1);
  }

  /** Ignores a packet priority that another program has set. */
  ignoresForeignPriorities(): void {
    for (const key of this.#kernel.sets.get('alive')?.keys() ?? []) {
      this.#clearAffinity();
      const verdict = this.#pass(0, Number(key.split(' . ').at(-1)));
      this.#clearAffinity();
      assert.equal(verdict, this.#pass(0));
    }
  }

  /** A client with stored affinity keeps its target, whatever the random number. */
  #keepsTarget(slot: number): void {
    const [to = '', port = ''] = this.#pass(slot).split(' ');
    const target = this.#targets.find((each) => each?.address === to && each.port === Number(port));
    if (target === undefined || target.stickySeconds === 0) {
      const stored = this.#entries().flatMap((members) => [...members]);
      assert.deepEqual(stored, [], 'no unnecessary affinity entry');
      return;
    }
    for (const other of this.#slots) assert.equal(this.#pass(other), this.#decided(other, target));
  }

  #decided(slot: number, affinityTarget?: Target): string {
    return decision(this.#table, this.#flow, (slot + 0.5) / this.#slots.length, affinityTarget);
  }

  #pass(slot: number, priority = 0): string {
    const { source, address, protocol, port } = this.#flow;
    this.#kernel.draw = (of) => slot % of;
    const isLocal = this.#kernel.isNode(source);
    return verdictText(
      this.#kernel.pass({
        saddr: source,
        daddr: address,
        protocol: layerFour({ protocol }),
        dport: port,
        isLocal,
        priority,
      }),
    );
  }

  #entries(): readonly Map<string, string>[] {
    return [...this.#kernel.sets].flatMap(([name, members]) => (name.startsWith('affinity-') ? [members] : []));
  }

  #clearAffinity(): void {
    for (const entries of this.#entries()) entries.clear();
  }
}

test('makes the same decisions as the table for all clients, addresses and ports, after every change', () => {
  const steps = fc.array(
    fc
      .record({
        host: fc.integer({ min: 1, max: 3 }),
        // A full load in between must not make a difference.
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
      for (const kernel of kernels.values()) kernel.isNode = isNode;
      const load = (): void => {
        for (const ruleset of rulesets) kernels.get(ruleset.family)?.run(ruleset.full(table.network));
      };
      load();
      for (const { host, routes, kind, isReload } of given) {
        table.set(`Service shop/s${host}`, kind === 'delete' ? [] : routes);
        const change = table.takeChange();
        for (const ruleset of rulesets) {
          for (const step of ruleset.apply(change)) kernels.get(ruleset.family)?.run(step);
        }
        if (isReload) load();
        compare(table, kernels);
      }
    }),
    { numRuns: 40 },
  );
});

test('removes all elements, and deletes unused chains in a full load', () => {
  fc.assert(
    fc.property(routesOfService(1), routesOfService(2), (first, second) => {
      for (const family of families) {
        const ruleset = new Ruleset('t', family);
        const kernel = new Kernel();
        kernel.run(ruleset.full(network));
        const empty = kernel.chainNames.length;
        for (const change of [
          { removed: [], added: [...first, ...second] },
          { removed: [...first, ...second], added: [] },
        ]) {
          kernel.run(ruleset.apply(change).flat());
        }
        for (const [name, members] of kernel.sets) {
          if (name !== 'pods' && name !== 'service-ranges') assert.deepEqual([...members], [], name);
        }
        kernel.run(ruleset.full(network));
        assert.equal(kernel.chainNames.length, empty);
      }
    }),
    { numRuns: 40 },
  );
});

test('changes a constant number of elements when an endpoint is added or removed', () => {
  const targets = Array.from({ length: 1000 }, (_, index): Target => ({
    address: `10.1.${index >> 8}.${index & 255}`,
    port: 8080,
    weight: 1,
    stickySeconds: 0,
    isLocal: false,
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
  const [, first, now = [], later] = ruleset.apply({ removed: [route(targets)], added: [route(without)] });
  assert.deepEqual(first, []);
  assert.deepEqual(
    now.filter((command) => command.includes(' element ')),
    [
      'delete element ip t services { 10.96.0.1 . tcp . 80 }',
      'delete element ip t slots-tcp { 10.96.0.1 . 80 . 10 }',
      'add element ip t services { 10.96.0.1 . tcp . 80 : goto pick-tcp-999 }',
      'add element ip t slots-tcp { 10.96.0.1 . 80 . 10 : 10.1.3.231 . 8080 }',
    ],
  );
  assert.deepEqual(later, ['delete element ip t slots-tcp { 10.96.0.1 . 80 . 999 }'], 'once nothing leads to it');
});
