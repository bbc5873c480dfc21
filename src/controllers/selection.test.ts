import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { keyOf } from '../client/key.ts';
import { pod, service, serviceWithoutSelector } from './testing/objects.ts';
import { Selection } from './selection.ts';

const labels = fc.dictionary(fc.constantFrom('app', 'tier', 'zone'), fc.constantFrom('x', 'y'), { maxKeys: 3 });
const namespace = fc.constantFrom('shop', 'bank');
const change = fc.oneof(
  fc.record({ what: fc.constant('pod' as const), name: fc.constantFrom('p', 'q', 'r'), namespace, labels }),
  fc.record({ what: fc.constant('service' as const), name: fc.constantFrom('s', 't', 'u'), namespace, labels }),
  fc.record({
    what: fc.constantFrom('no pod' as const, 'no service' as const),
    name: fc.constantFrom('p', 'q', 's', 't'),
    namespace,
    labels,
  }),
);

const isSelected = (by: Service, { metadata }: Pod): boolean =>
  by.metadata.namespace === metadata.namespace &&
  Object.entries(by.spec.selector ?? {}).every(([label, value]) => metadata.labels?.[label] === value);

test('finds Pods by Service and Services by Pod after any sequence of changes', () => {
  const property = fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
    const selection = new Selection();
    const pods = new Map<string, Pod>();
    const services = new Map<string, Service>();
    for (const { what, name, namespace: place, labels: chosen } of changes) {
      const one = pod(name, { namespace: place, labels: chosen });
      const other = service({ selector: chosen }, { name, namespace: place });
      if (what === 'pod') {
        selection.setPod(one, pods.get(keyOf(one)));
        pods.set(keyOf(one), one);
      } else if (what === 'service') {
        selection.setService(other);
        services.set(keyOf(other), other);
      } else if (what === 'no pod') {
        selection.removePod(one);
        pods.delete(keyOf(one));
      } else {
        selection.removeService(other);
        services.delete(keyOf(other));
      }
    }
    const names = (found: readonly Pod[]): string[] => found.map(keyOf).sort();
    for (const each of services.values()) {
      assert.deepEqual(names(selection.podsOf(each)), names([...pods.values()].filter((one) => isSelected(each, one))));
    }
    for (const each of pods.values()) {
      const want = [...services.values()].filter((by) => isSelected(by, each)).map(keyOf);
      assert.deepEqual([...selection.servicesOf(each)].sort(), want.sort());
    }
  });
  fc.assert(property, { numRuns: 300 });
});

test('a Service without managed endpoints selects nothing', () => {
  const selection = new Selection();
  selection.setPod(pod('p'));
  selection.setService(service());
  assert.deepEqual(selection.servicesOf(pod('p')), ['shop/web']);
  selection.setService(serviceWithoutSelector());
  assert.deepEqual(selection.servicesOf(pod('p')), []);
  assert.deepEqual(selection.podsOf(service()), []);
  selection.setService(service({ type: 'ExternalName' }));
  assert.deepEqual(selection.servicesOf(pod('p')), [], 'EXT-2');
});

test('the cost of a Pod does not depend on the number of Services that share only a label with it', () => {
  const selection = new Selection();
  const count = 20_000;
  for (let index = 0; index < count; index++) {
    const selector = { tier: 'web', app: `a${index}` };
    selection.setService(service({ selector }, { name: `s${index}` }));
  }
  const one = pod('p', { labels: { tier: 'web', app: 'a7' } });
  const before = process.cpuUsage();
  for (let run = 0; run < 1000; run++) assert.deepEqual(selection.servicesOf(one), ['shop/s7']);
  // A comparison with every Service would take seconds.
  const { user: micros } = process.cpuUsage(before);
  assert.ok(micros < 1_000_000, `${micros} µs`);
});
