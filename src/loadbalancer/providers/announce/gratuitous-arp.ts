// Gratuitous ARP (RFC 5227 §3): updates the ARP caches of neighbours when an IPv4 address moves to this machine. For IPv6
// the kernel does this with `net.ipv6.conf.IFACE.ndisc_notify`.
import { networkInterfaces } from 'node:os';

import { parseAddress } from '../../../api/addresses.ts';
import { loadCLibrary } from '../../../machine/c-library.ts';

const arpType = 0x0806;
const broadcast = Buffer.alloc(6, 0xff);

/** The Ethernet frame that announces an address at a hardware address. */
export function announcement(address: string, hardware: Buffer): Buffer {
  const protocolAddress = Buffer.alloc(4);
  protocolAddress.writeUInt32BE(Number(parseAddress(address)?.value ?? 0n));
  const head = Buffer.from([0, 1, 8, 0, 6, 4, 0, 1]); // Ethernet, IPv4, their lengths, request
  return Buffer.concat([
    broadcast,
    hardware,
    Buffer.from([arpType >> 8, arpType & 255]),
    head,
    hardware,
    protocolAddress,
    Buffer.alloc(6), // unknown target
    protocolAddress,
  ]);
}

/** The hardware address of an interface; undefined if it has none, like loopback. */
function hardwareOf(name: string): Buffer | undefined {
  const mac = networkInterfaces()[name]?.[0]?.mac ?? '';
  const bytes = Buffer.from(mac.replaceAll(':', ''), 'hex');
  return bytes.length === 6 && bytes.some((byte) => byte !== 0) ? bytes : undefined;
}

/** Sends an announcement per address. Returns false if that is not possible on this machine. */
export async function announceIpv4(interfaceName: string, addresses: readonly string[]): Promise<boolean> {
  const hardware = hardwareOf(interfaceName);
  const c = await loadCLibrary();
  if (hardware === undefined || c === undefined) return false;
  const open = c.define<(domain: number, type: number, protocol: number) => number>(
    'int socket(int domain, int type, int protocol)',
  );
  const send = c.define<
    (fd: number, frame: Buffer, length: number, flags: number, to: Buffer, toLength: number) => number
  >('long sendto(int fd, const void *frame, size_t length, int flags, const void *to, uint32_t toLength)');
  const close = c.define<(fd: number) => number>('int close(int fd)');
  const indexOf = c.define<(name: string) => number>('unsigned int if_nametoindex(const char *name)');
  const [packet, raw] = [17, 3];
  const fd = open(packet, raw, 0);
  if (fd < 0) return false;
  try {
    const to = linkAddress(indexOf(interfaceName));
    return addresses.every((address) => {
      const frame = announcement(address, hardware);
      return send(fd, frame, frame.length, 0, to, to.length) === frame.length;
    });
  } finally {
    close(fd);
  }
}

/** A `struct sockaddr_ll` for a broadcast on an interface. */
function linkAddress(index: number): Buffer {
  const to = Buffer.alloc(20);
  to.writeUInt16LE(17, 0); // AF_PACKET
  to.writeUInt16BE(arpType, 2);
  to.writeInt32LE(index, 4);
  to.writeUInt8(6, 11);
  broadcast.copy(to, 12);
  return to;
}
