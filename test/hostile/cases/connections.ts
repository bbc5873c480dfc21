// Connections that use a descriptor each and send nothing, or too little.

import { Flood } from '../../abuse/flood.ts';
import type { HostileCase } from '../case.ts';

/** More connections than one address may have. */
const count = 3000;
const holdMs = 5000;

/** Holds connections that each sent these bytes, and then sends a request over another one. */
const held = (name: string, first: string | Buffer): HostileCase => ({
  name: `${count} ${name}`,
  async attack({ server }, signal) {
    const { hostname, port } = new URL(server.target.url);
    using flood = new Flood();
    await flood.tcp(count, hostname, Number(port), first);
    await new Promise((resolve) =>
      AbortSignal.any([signal, AbortSignal.timeout(holdMs)]).addEventListener('abort', resolve),
    );
    return [await server.send({ method: 'GET', path: '/version' }, signal)];
  },
});

/** An incomplete TLS record: its header announces a ClientHello of 512 bytes. */
const halfHello = Buffer.from('160301020001000100', 'hex');

export const connections: readonly HostileCase[] = [
  held('idle connections', ''),
  held('connections in the middle of a handshake', halfHello),
];
