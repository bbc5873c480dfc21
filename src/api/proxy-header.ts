// The header of HAProxy's PROXY protocol, versions 1 and 2: sends the client's address to a target before the client's bytes.
import { parseAddress } from './addresses.ts';

/** The addresses of a connection; both are of one family. */
export interface ConnectionAddresses {
  readonly source: string;
  readonly sourcePort: number;
  readonly address: string;
  readonly port: number;
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Version 2, command PROXY. */
const proxyCommand = 0x21;
const streamOf = { IPv4: 0x11, IPv6: 0x21 } as const;

/** The header, which a connection to a target starts with. */
export function proxyHeaderOf(version: 'v1' | 'v2', addresses: ConnectionAddresses): Uint8Array {
  return version === 'v1' ? textHeader(addresses) : binaryHeader(addresses);
}

function textHeader({ source, sourcePort, address, port }: ConnectionAddresses): Uint8Array {
  const family = address.includes(':') ? 'TCP6' : 'TCP4';
  return Buffer.from(`PROXY ${family} ${source} ${address} ${sourcePort} ${port}\r\n`, 'latin1');
}

function binaryHeader({ source, sourcePort, address, port }: ConnectionAddresses): Uint8Array {
  const family = address.includes(':') ? 'IPv6' : 'IPv4';
  const addresses = Buffer.concat([addressBytes(source), addressBytes(address)]);
  const head = Buffer.alloc(4);
  head.writeUInt8(proxyCommand, 0);
  head.writeUInt8(streamOf[family], 1);
  head.writeUInt16BE(addresses.length + 4, 2);
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(sourcePort, 0);
  ports.writeUInt16BE(port, 2);
  return Buffer.concat([signature, head, addresses, ports]);
}

function addressBytes(address: string): Uint8Array {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new TypeError(`"${address}" is not an IP address`);
  const digits = parsed.family === 'IPv4' ? 8 : 32;
  return Buffer.from(parsed.value.toString(16).padStart(digits, '0'), 'hex');
}
