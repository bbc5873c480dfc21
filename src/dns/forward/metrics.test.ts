import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { ForwardCounters } from './counters.ts';
import { forwardMetrics } from './metrics.ts';
import { answers } from './testing/fake-upstream.ts';
import { withForwarder } from './testing/forwarder.ts';

test('the README lists exactly the metrics', async () => {
  const registry = new Registry();
  const zero = { success: 0, denial: 0 };
  forwardMetrics({ registry, counters: new ForwardCounters(), server: '', cacheSize: () => zero, inFlight: () => 0 });
  const registered = (await registry.getMetricsAsJSON()).map(({ name }) => name);
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const written = Array.from(page.matchAll(/`((?:coredns|fairlead)_\w+)`/g), ([, name = '']) => name);
  assert.deepEqual(written.toSorted(), registered.toSorted());
});

test("metrics have CoreDNS' names and exist before the first query", async () => {
  await withForwarder([answers('192.0.2.1')], {}, async ({ resolve, forwarder, servers }) => {
    const registry = new Registry();
    const { counters } = forwarder;
    const server = 'dns://:53';
    forwardMetrics({
      registry,
      counters,
      server,
      cacheSize: () => forwarder.cacheSize,
      inFlight: () => forwarder.inFlight,
    });
    assert.match(await registry.metrics(), /coredns_forward_max_concurrent_rejects_total 0/);
    await resolve('www.example.org');
    await resolve('www.example.org');
    const text = await registry.metrics();
    const to = `127.0.0.1:${servers[0]?.endpoint.port}`;
    for (const line of [
      'coredns_cache_entries{server="dns://:53",zones=".",view="",type="success"} 1',
      'coredns_cache_hits_total{server="dns://:53",zones=".",view="",type="success"} 1',
      'coredns_cache_misses_total{server="dns://:53",zones=".",view=""} 1',
      'coredns_cache_requests_total{server="dns://:53",zones=".",view=""} 2',
      `coredns_proxy_request_duration_seconds_count{proxy_name="forward",to="${to}",rcode="NOERROR"} 1`,
      `coredns_forward_responses_total{to="${to}",rcode="NOERROR"} 1`,
      `coredns_proxy_healthcheck_failures_total{proxy_name="forward",to="${to}"} 0`,
    ]) {
      assert.ok(text.includes(line), `${line}\nis not in\n${text}`);
    }
  });
});
