// Nc of a container: DNS-SERVER -v -w 2 -4 NAME PORT. Resolves the name with that server, connects, and prints the connection and the response.

import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { connect } from 'node:net';

const [dns = '', ...args] = process.argv.slice(2);
const [name = '', port = ''] = args.slice(-2);
const resolver = new Resolver({ timeout: 1000, tries: 1 });
resolver.setServers([dns]);
const [host] = await resolver.resolve4(name);
const socket = connect({ host: host ?? '', port: Number(port), timeout: 2000 });
socket.on('timeout', () => socket.destroy(new Error('timed out')));
await once(socket, 'connect');
process.stderr.write(`Connection to ${name} (${host ?? ''}) ${port} port succeeded!\n`);
process.stdin.pipe(socket);
socket.pipe(process.stdout);
