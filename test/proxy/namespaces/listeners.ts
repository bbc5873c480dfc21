// Runs in the namespace of a node, like a proxy in mode userspace: each line of the input is the new Service. The response, sent
// once it applies, lists the problems.
import { createInterface } from 'node:readline';

import type { RouteInput } from '../../../src/proxy/routes/routes.ts';
import { routesOf } from '../../../src/proxy/routes/routes.ts';
import { RoutingTable } from '../../../src/proxy/routes/table.ts';
import { UserspaceBackend } from '../../../src/proxy/userspace/backend.ts';
import { network } from './routed.ts';

const table = new RoutingTable(network);
await using backend = await UserspaceBackend.open({ drainMs: 0 });
await backend.replace(table);
for await (const line of createInterface({ input: process.stdin })) {
  // A cast where bytes become a command: the other end is listened.ts.
  table.set('Service shop/1-web', routesOf(JSON.parse(line) as RouteInput));
  await backend.apply(table.takeChange(), table);
  console.log(JSON.stringify(backend.problems()));
}
