// The gateways of two clusters in one process, to be measured: `node pair.ts TARGET-PORT`. It prints where clients connect.

import { startSet } from '../../src/gateway/testing/gateways.ts';

const port = 20_000;
const target = { host: '127.0.0.1', port: Number(process.argv[2]) };
const stack = new AsyncDisposableStack();
const [east, west] = (await startSet(['east', 'west'], stack)).clusters;
if (east === undefined || west === undefined) throw new Error('bug: two clusters were started');
const probes = { probeTimes: { everyMs: 10_000, timeoutMs: 15_000 } };
const remote = await east.gateway(stack, probes);
const local = await west.gateway(stack, probes);
await east.exports('web', [target], { importers: ['west'] });
await west.imports('web', 'east', { port, gateways: [remote.peers] });
console.log(`${local.address} ${port}`);
