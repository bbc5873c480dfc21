// `fairlead publisher --provider route53`, with any server that has the API of Route 53 and the zone example.org.
import assert from 'node:assert/strict';

import { until } from '../../src/server/testing/until.ts';
import { balanced, setIngress, startStand } from './stand.ts';

/** Publishes a Service and deletes it. `sets` lists what the zone holds, without SOA and NS, as `name type values`. */
export async function testRoute53(endpoint: string, sets: () => Promise<readonly string[]>): Promise<void> {
  const provider = ['--provider', 'route53', '--zone', 'example.org', '--aws-endpoint', endpoint];
  await using stand = await startStand('BIND', { provider });
  await stand.kubectl(['apply', '-f', '-'], balanced('shop', { hostname: 'shop.example.org' }));
  await setIngress(stand, 'shop', '[{"hostname":"lb-1.elb.amazonaws.com"}]');
  assert.match(await stand.plan(), /^create +CNAME +shop\.example\.org +60 +lb-1\.elb\.amazonaws\.com\. /m);
  await stand.publish();
  const txt = '"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/shop"';
  const want = [
    '_http._tcp.shop.example.org. SRV 0 100 80 lb-1.elb.amazonaws.com.',
    `cname-shop.example.org. TXT ${txt}`,
    'shop.example.org. CNAME lb-1.elb.amazonaws.com.',
    `srv-_http._tcp.shop.example.org. TXT ${txt}`,
  ];
  await until('the zone has the sets', async () => (await sets()).toSorted().join('\n') === want.join('\n'));
  assert.match(await stand.plan(), /^nothing to change$/m);
  await stand.kubectl(['delete', 'service', 'shop']);
  await until('the zone is empty', async () => (await sets()).length === 0);
}
