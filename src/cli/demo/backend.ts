// A Pod of the demo: a process that serves at the Pod's address and says its name. It ends with who started it.
import { createSocket } from 'node:dgram';
import { createServer as createWebServer } from 'node:http';
import { createServer } from 'node:net';

const [name = '', address = ''] = process.argv.slice(2);
const fail = (error: Error): never => {
  process.send?.({ problem: error.message });
  process.exit(1);
};

const web = createWebServer((_, response) => response.end(`${name}\n`));
web.on('error', fail).listen(8080, address);
for (const port of [5060, 8088]) {
  createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`${name}\n`);
  })
    .on('error', fail)
    .listen(port, address);
  const socket = createSocket('udp4');
  socket.on('message', (_, from) => socket.send(`${name}\n`, from.port, from.address));
  socket.on('error', fail).bind(port, address);
}
web.once('listening', () => process.send?.({ isServing: true }));
process.once('disconnect', () => process.exit(0));
// Ctrl-C goes to every process of a terminal; the parent ends first, and this one then.
process.on('SIGINT', () => undefined);
