// The packet that begins an SCTP association (RFC 9260), sent by a raw socket: kernels may translate SCTP without having
// sockets for it.
import { allocateWith } from '../../../src/proxy/userspace/native/memory.ts';
import { loadLibc } from '../../../src/proxy/userspace/native/libc.ts';
import { encodeSocketAddress } from '../../../src/proxy/userspace/native/socket-address.ts';
import { systemError } from '../../../src/proxy/userspace/native/sockets.ts';

const rawKind = 3;
const sctpProtocol = 132;

/** Sends an INIT to an address and port. */
export async function sendInit(to: {
  readonly address: string;
  readonly port: number;
  readonly fromPort: number;
}): Promise<void> {
  const libc = await loadLibc();
  if (libc === undefined) throw new Error('koffi is not installed: there are no raw sockets without it');
  // A raw socket has no port.
  const address = allocateWith(libc, encodeSocketAddress(to.address, 0));
  const packet = allocateWith(libc, init(to.fromPort, to.port));
  const fd = libc.socket(address.bytes[0] ?? 0, rawKind, sctpProtocol);
  try {
    if (libc.connect(fd, address.address, address.bytes.length) !== 0) throw systemError(libc);
    if (libc.send(fd, packet.address, packet.bytes.length, 0) !== packet.bytes.length) throw systemError(libc);
  } finally {
    libc.close(fd);
  }
}

/** A common header and an INIT chunk: one stream each way, a window of 64 KiB. */
function init(fromPort: number, port: number): Buffer {
  const packet = Buffer.alloc(32);
  packet.writeUInt16BE(fromPort, 0);
  packet.writeUInt16BE(port, 2);
  packet.writeUInt8(1, 12);
  packet.writeUInt16BE(20, 14);
  packet.writeUInt32BE(0x1234_5678, 16);
  packet.writeUInt32BE(65_536, 20);
  packet.writeUInt16BE(1, 24);
  packet.writeUInt16BE(1, 26);
  packet.writeUInt32BE(1, 28);
  packet.writeUInt32LE(crc32c(packet), 8);
  return packet;
}

/** The checksum of SCTP, bit by bit. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1;
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}
