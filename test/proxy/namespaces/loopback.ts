// Runs in the namespace of a node, like a proxy in mode nftables: the Service has node ports at loopback until the
// input ends. The rules have their own table, which is removed at the end.
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { modes } from '../../../src/proxy/modes.ts';
import { routesOf } from '../../../src/proxy/routes/routes.ts';
import { RoutingTable } from '../../../src/proxy/routes/table.ts';
import { network, node, onBoth, service, slicesOnBoth } from './routed.ts';

const table = new RoutingTable(network);
const atLoopback = { ...node, nodePortAddresses: ['127.0.0.1', '::1'] };
const both = service({ type: 'NodePort', ports: onBoth(80, 30080) });
table.set('Service shop/1-web', routesOf({ service: both, slices: slicesOnBoth('podA', 'podB'), node: atLoopback }));
const context = { observer: {}, log: pino({ level: 'silent' }), metrics: new Registry() };
await using backend = await modes.nftables({ nftables: { table: 'fairlead-loopback' } }, context);
await backend.replace(table);
console.log(JSON.stringify(backend.problems()));
for await (const _ of process.stdin);
await backend.cleanup();
