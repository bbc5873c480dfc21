import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { RecordOptions } from '../records/options.ts';
import { endpoint, headless, lines, service, slice } from '../records/testing/records.ts';
import { serviceRecords } from '../records/service.ts';
import { sliceRecords } from '../records/slices.ts';
import { trimService, trimSliceTo } from './trim.ts';

describe('trimmed objects', () => {
  const address = fc.integer({ min: 1, max: 9 }).map((last) => `10.0.0.${last}`);
  const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
  const anEndpoint = fc
    .record({
      address,
      hostname: optional(fc.constantFrom('a', 'b')),
      pod: optional(fc.constantFrom('p', 'q')),
      zone: optional(fc.constantFrom('z1', 'z2')),
      ready: optional(fc.boolean()),
    })
    .map(({ address: at, hostname, pod, zone, ready }) =>
      endpoint(at, {
        conditions: ready === undefined ? {} : { ready },
        ...(hostname === undefined ? {} : { hostname }),
        ...(pod === undefined ? {} : { targetRef: { kind: 'Pod', name: pod } }),
        ...(zone === undefined ? {} : { zone }),
      }),
    );

  it('produce the same records as whole objects', () => {
    fc.assert(
      fc.property(
        fc.array(anEndpoint),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (endpoints, pods, zonal, isHeadless) => {
          const options: RecordOptions = { clusterDomain: 'cluster.local', endpointPodNames: pods, zonal };
          const object = isHeadless ? headless() : service({ clusterIPs: ['10.96.0.1'], selector: { app: 'web' } });
          const whole = slice(endpoints);
          const made = (each: EndpointSlice, owner: typeof object): readonly string[] => [
            ...new Set([
              ...lines(sliceRecords({ service: owner, slice: each, options })),
              ...lines(serviceRecords({ service: owner, slices: [each], options })),
            ]),
          ];
          assert.deepEqual(made(trimSliceTo(options)(whole), trimService(object)), made(whole, object));
        },
      ),
    );
  });

  it('merge endpoints that differ only in their address', () => {
    const whole = slice([
      endpoint('10.0.0.1', { targetRef: { kind: 'Pod', name: 'p' }, zone: 'z' }),
      endpoint('10.0.0.2'),
    ]);
    assert.deepEqual(trimSliceTo({})(whole).endpoints, [
      { addresses: ['10.0.0.1', '10.0.0.2'], conditions: { ready: true } },
    ]);
  });
});
