// The program of a Pod of the suite: sends its address to every client of port 42, over TCP and UDP.

import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

const [address = ''] = process.argv.slice(2);
const answer = `pod ip ${address}\n`;
const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.end(answer);
}).listen(42, address, () => process.send?.('ready'));
const datagrams = createSocket('udp4');
datagrams.on('message', (_, from) => datagrams.send(answer, from.port, from.address)).bind(42, address);
process.once('disconnect', () => {
  server.close();
  process.exit(0);
});
