import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { EndpointSubset } from '../api/kinds/core/endpoints/schema.ts';
import { repack, sameSubsets } from './subsets.ts';

const address = fc.record({
  ip: fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.10'),
  targetRef: fc.record({ uid: fc.constantFrom('u1', 'u2') }),
});
const port = fc.record({ name: fc.constantFrom('a', 'b', 'c'), port: fc.constantFrom(1, 2) });
const someSubsets: fc.Arbitrary<EndpointSubset[]> = fc.array(
  fc.record({
    addresses: fc.array(address, { maxLength: 4 }),
    notReadyAddresses: fc.array(address, { maxLength: 3 }),
    ports: fc.array(port, { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 4 },
);

/** Every combination of a port and an address → whether it is ready. */
function combinations(subsets: readonly EndpointSubset[]): Record<string, boolean> {
  const found: Record<string, boolean> = {};
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const name of ports.map((each) => `${each.name}:${each.port}`)) {
      for (const { ip, targetRef } of addresses) found[`${name} ${ip} ${targetRef?.uid}`] ??= true;
      for (const { ip, targetRef } of notReadyAddresses) found[`${name} ${ip} ${targetRef?.uid}`] = false;
    }
  }
  return found;
}

test('repacking keeps every combination of address and port; not ready wins over ready', () => {
  fc.assert(
    fc.property(someSubsets, (subsets) => {
      assert.deepEqual(combinations(repack(subsets)), combinations(subsets));
    }),
    { numRuns: 200 },
  );
});

test('repacking is idempotent, independent of the order, and puts a port in one subset per address', () => {
  fc.assert(
    fc.property(someSubsets, (subsets) => {
      const packed = repack(subsets);
      assert.ok(sameSubsets(repack(packed), packed));
      assert.ok(sameSubsets(repack(subsets.toReversed()), packed));
      const ports = packed.flatMap(({ ports: list = [] }) => list.map(({ name, port: number }) => `${name}:${number}`));
      assert.equal(new Set(ports).size, ports.length);
    }),
    { numRuns: 200 },
  );
});

test('ignores the revision of a target reference', () => {
  const at = (resourceVersion: string, uid = 'u'): EndpointSubset[] => [
    { addresses: [{ ip: '192.0.2.1', targetRef: { uid, resourceVersion } }] },
  ];
  assert.equal(sameSubsets(at('1'), at('2')), true);
  assert.equal(sameSubsets(at('1'), at('1', 'v')), false);
  assert.equal(sameSubsets(at('1'), []), false);
});

test('keeps addresses without ports unless the same addresses have ports', () => {
  const addresses = [{ ip: '192.0.2.1' }];
  const ports = [{ name: 'a', port: 1 }];
  assert.deepEqual(repack([{ addresses, ports: [] }]), [{ addresses }]);
  assert.deepEqual(repack([{ addresses }, { addresses, ports }]), [{ addresses, ports }]);
  assert.deepEqual(repack([{ addresses: [], ports }]), []);
});
