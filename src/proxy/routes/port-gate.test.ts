import assert from 'node:assert/strict';
import { test } from 'node:test';

import { endpoint, node, service, slice } from './testing/objects.ts';
import { routesOf } from './routes.ts';

test('LB-7 drops traffic to ports that a load balancer has not opened, at its address only', () => {
  const given = service(
    {
      type: 'LoadBalancer',
      ports: [
        { name: 'tcp', port: 53, protocol: 'TCP', nodePort: 30053 },
        { name: 'udp', port: 53, protocol: 'UDP', nodePort: 30053 },
      ],
    },
    {
      ingress: [
        {
          ip: '203.0.113.5',
          ports: [
            { port: 53, protocol: 'TCP' },
            { port: 53, protocol: 'UDP', error: 'MixedProtocolNotSupported' },
          ],
        },
        { ip: '203.0.113.6', portStatuses: [{ port: 53, protocol: 'UDP', ready: true }] },
        { ip: '203.0.113.7' },
      ],
    },
  );
  const slices = [
    slice([endpoint('10.1.0.1')], {
      ports: [
        { name: 'tcp', port: 53, protocol: 'TCP' },
        { name: 'udp', port: 53, protocol: 'UDP' },
      ],
    }),
  ];
  const dropped = (lbPortGate: 'status' | 'ignore'): readonly string[] =>
    routesOf({ service: given, slices, node, options: { lbPortGate } })
      .filter(({ action }) => action.type === 'drop')
      .map(({ kind, address, protocol }) => `${kind} ${address} ${protocol}`);
  assert.deepEqual(dropped('status'), ['loadBalancer 203.0.113.6 TCP', 'loadBalancer 203.0.113.5 UDP']);
  assert.deepEqual(dropped('ignore'), []);
});
