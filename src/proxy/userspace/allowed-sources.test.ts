import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import { clients, routesOfService } from '../routes/testing/arbitrary.ts';
import { decide } from '../routes/decide.ts';
import { network } from '../routes/testing/objects.ts';
import { RoutingTable } from '../routes/table.ts';
import type { AllowedSources } from './allowed-sources.ts';
import { allowedSourcesOf, isBound } from './allowed-sources.ts';

function isAllowed(allowed: AllowedSources, source: string): boolean {
  const address = parseAddress(source);
  assert.ok(address);
  return allowed.every((ranges) =>
    ranges.some((range) => {
      const cidr = parseCidr(range);
      return cidr !== undefined && contains(cidr, address);
    }),
  );
}

test('allows all sources but those whose connections are dropped, and needs no listener if all are rejected', () => {
  fc.assert(
    fc.property(routesOfService(3), (routes) => {
      const table = new RoutingTable(network);
      table.set('Service 3', routes);
      for (const each of table.routes.values()) {
        const allowed = allowedSourcesOf(each, network);
        const verdicts = [...clients[each.family], each.address].map((source) => {
          const { type } = decide(table, { ...each, source }, { random: () => 0, affinityTarget: undefined });
          assert.equal(isAllowed(allowed, source), type !== 'drop', `${source} at ${JSON.stringify(each)}`);
          return type;
        });
        if (!isBound(each)) assert.ok(verdicts.every((type) => type !== 'forward'));
      }
    }),
    { numRuns: 100 },
  );
});
