import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregatorRegistry, Registry } from 'prom-client';
import { serverStateMetrics, serverMetrics } from './metrics.ts';
import { counterBytes, Counters, readCounters } from './transport/counters.ts';

function setUp(): { readonly counters: Counters; readonly registry: Registry } {
  const buffer = new SharedArrayBuffer(counterBytes);
  const registry = new Registry();
  serverMetrics(registry, { stats: () => readCounters([buffer]) }, 'dns://:53');
  return { counters: new Counters(buffer), registry };
}

test("exports counters under CoreDNS' names and labels, read at each scrape", async () => {
  const { counters, registry } = setUp();
  assert.match(await registry.metrics(), /^coredns_shed_dropped_total\{server="dns:\/\/:53",zone="\.",view=""\} 0$/m);
  for (const length of [50, 200]) counters.response(0, 3, length);
  counters.response(1, 0, 100);
  counters.duration(0, 0.0001, 2);
  const text = await registry.metrics();
  const place = 'server="dns://:53",zone=".",view=""';
  assert.ok(text.includes(`coredns_dns_responses_total{${place},rcode="NXDOMAIN",plugin="kubernetes"} 2`), text);
  assert.ok(text.includes(`coredns_dns_responses_total{${place},rcode="NOERROR",plugin="kubernetes"} 1`));
  assert.ok(text.includes(`coredns_dns_response_size_bytes_count{${place},proto="udp"} 2`));
  assert.ok(text.includes(`coredns_dns_response_size_bytes_sum{${place},proto="udp"} 250`));
  assert.ok(text.includes(`coredns_dns_request_duration_seconds_count{${place},proto="udp"} 2`));
  assert.match(text, /^# TYPE coredns_dns_request_duration_seconds histogram$/m);
});

test('histogram buckets are cumulative', async () => {
  const { counters, registry } = setUp();
  for (const length of [10, 100, 1000, 60_000]) counters.response(1, 0, length);
  const text = await registry.metrics();
  const buckets = Array.from(
    text.matchAll(/^coredns_dns_response_size_bytes_bucket\{.*proto="tcp",le="([^"]+)"\} (\d+)$/gm),
    ([, bound, count]) => [bound === '+Inf' ? Infinity : Number(bound), Number(count)] as const,
  );
  assert.ok(buckets.length > 5);
  assert.deepEqual(buckets.at(-1), [Infinity, 4]);
  for (const [index, [bound, count]] of buckets.entries()) {
    const [lower, fewer] = buckets[index - 1] ?? [-1, 0];
    assert.ok(bound > lower && count >= fewer);
    assert.equal(count, [10, 100, 1000, 60_000].filter((length) => length <= bound).length, `up to ${bound}`);
  }
});

test('metrics of two clusters add up, as `up` prints them', async () => {
  const east = setUp();
  const west = setUp();
  east.counters.response(0, 0, 100);
  west.counters.response(0, 0, 100);
  const all = await Promise.all([east.registry.getMetricsAsJSON(), west.registry.getMetricsAsJSON()]);
  const text = await AggregatorRegistry.aggregate(all).metrics();
  assert.match(text, /^coredns_dns_responses_total\{.*rcode="NOERROR".*\} 2$/m);
  assert.match(text, /^coredns_dns_response_size_bytes_count\{.*proto="udp"\} 2$/m);
});

test("exports errors, failed reloads and enabled features under CoreDNS' names", async () => {
  const registry = new Registry();
  serverStateMetrics(registry, 'dns://:53', { errors: () => 2, failedReloads: () => 1, forwards: () => true });
  const text = await registry.metrics();
  assert.match(text, /^coredns_panics_total 2$/m);
  assert.match(text, /^coredns_reload_failed_total 1$/m);
  assert.deepEqual(
    Array.from(text.matchAll(/^coredns_plugin_enabled\{.*name="(\w+)"\} 1$/gm), ([, name]) => name),
    ['kubernetes', 'forward', 'cache'],
  );
});
