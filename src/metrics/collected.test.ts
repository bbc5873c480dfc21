import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Registry } from 'prom-client';

import { collectedCounter, collectedGauge, collectedHistogram } from './collected.ts';

test('reads values when metrics are collected and prints them in the format of Prometheus', async () => {
  const registry = new Registry();
  let open = 1;
  collectedGauge(registry, 'open', 'Open now.', () => open);
  collectedCounter(registry, 'seen_total', 'Seen.', () => [
    [{ by: 'a' }, 3],
    [{ by: 'b' }, 4],
  ]);
  collectedHistogram(registry, 'wait_seconds', 'Waits.', () => [
    [{ lane: 'x' }, { bounds: [1, 5], counts: [2, 1], sum: 30, count: 4 }],
  ]);
  open = 2;
  assert.equal(
    await registry.metrics(),
    `# HELP open Open now.
# TYPE open gauge
open 2

# HELP seen_total Seen.
# TYPE seen_total counter
seen_total{by="a"} 3
seen_total{by="b"} 4

# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{lane="x",le="1"} 2
wait_seconds_bucket{lane="x",le="5"} 3
wait_seconds_bucket{lane="x",le="+Inf"} 4
wait_seconds_sum{lane="x"} 30
wait_seconds_count{lane="x"} 4
`,
  );
});
