// The PROXY protocol of HAProxy, versions 1 and 2: what a target is told of a client before the client says anything.
import { parseAddress } from '../../api/addresses.ts';
import type { Route } from '../routes/route.ts';

/** Who connects, and where. Both addresses are of one family. */
export interface Parties {
  readonly source: string;
  readonly sourcePort: number;
  readonly address: string;
  readonly port: number;
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Version 2, and that somebody else is spoken for. */
const onBehalf = 0x21;
const streamOf = { IPv4: 0x11, IPv6: 0x21 } as const;

/** The bytes that begin a connection to a target. */
export function prefaceOf(version: NonNullable<Route['proxyProtocol']>, parties: Parties): Uint8Array {
  return version === 'v1' ? textPreface(parties) : binaryPreface(parties);
}

function textPreface({ source, sourcePort, address, port }: Parties): Uint8Array {
  const family = address.includes(':') ? 'TCP6' : 'TCP4';
  return Buffer.from(`PROXY ${family} ${source} ${address} ${sourcePort} ${port}\r\n`, 'latin1');
}

function binaryPreface({ source, sourcePort, address, port }: Parties): Uint8Array {
  const family = address.includes(':') ? 'IPv6' : 'IPv4';
  const addresses = Buffer.concat([addressBytes(source), addressBytes(address)]);
  const head = Buffer.alloc(4);
  head.writeUInt8(onBehalf, 0);
  head.writeUInt8(streamOf[family], 1);
  head.writeUInt16BE(addresses.length + 4, 2);
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(sourcePort, 0);
  ports.writeUInt16BE(port, 2);
  return Buffer.concat([signature, head, addresses, ports]);
}

function addressBytes(address: string): Uint8Array {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new TypeError(`"${address}" is no IP address`);
  const digits = parsed.family === 'IPv4' ? 8 : 32;
  return Buffer.from(parsed.value.toString(16).padStart(digits, '0'), 'hex');
}
