// A proxy with one route only, as a separate process: `relay.ts ENGINE LISTEN-PORT TARGET-PORT`.
import { RoutingTable } from '../../src/proxy/routes/table.ts';
import { UserspaceBackend } from '../../src/proxy/userspace/backend.ts';
import { forward, network, route, target } from '../../src/proxy/userspace/testing/echo.ts';

const [engine, port, targetPort] = process.argv.slice(2);
const table = new RoutingTable(network);
const only = forward(target({ address: '127.0.0.1', port: Number(targetPort) }));
table.set('bench', [route('127.0.0.1', only, { port: Number(port) })]);
const backend = await UserspaceBackend.open({ engine: engine === 'node' ? 'node' : 'native' });
await backend.replace(table);
