import { joinHostPort } from '../../api/addresses.ts';
import type { CLibrary } from '../../machine/c-library.ts';
import { loadCLibrary } from '../../machine/c-library.ts';
import { addressBytes } from '../../dnswire/address.ts';

/** Calls of the C library for sockets; each returns -1 on failure. */
interface Calls {
  readonly socket: (family: number, kind: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, option: number, value: Uint8Array, length: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly connect: (fd: number, address: Uint8Array, length: number) => number;
  readonly getsockname: (fd: number, address: Uint8Array, length: Uint8Array) => number;
  readonly close: (fd: number) => number;
  readonly poll: (fds: Uint8Array, count: number, timeoutMs: number) => number;
}

/** Calls on the hot path. They take addresses of memory, since converting a buffer costs 100 ns. */
interface BatchCalls {
  readonly recvmmsg: (fd: number, messages: bigint, count: number, flags: number, timeout: number) => number;
  readonly sendmmsg: (fd: number, messages: bigint, count: number, flags: number) => number;
}

/** Watches a socket from the event loop. */
export interface SocketWatch {
  close(): void;
}

/** Socket operations that Node does not have. */
export interface Native extends Calls, BatchCalls {
  readonly errno: () => number;
  /** The address of a buffer, which must stay referenced while the address is used. */
  readonly addressOf: (buffer: Uint8Array) => bigint;
  readonly watch: (fd: number, onReadable: () => void) => SocketWatch;
  /** The socket address that a socket is bound to. */
  readonly boundAddress: (fd: number) => Uint8Array;
  /** The name of an error number, as `EADDRINUSE`. */
  readonly errorName: (errno: number) => string;
}

/** The native calls; undefined if unavailable, for example outside Linux. */
export async function loadNative(): Promise<Native | undefined> {
  const library = await loadCLibrary();
  return library && bindCalls(library);
}

function bindCalls({ koffi, define, errno, errorName }: CLibrary): Native {
  const getsockname: Calls['getsockname'] = define('int getsockname(int fd, void *address, void *length)');
  return {
    socket: define('int socket(int family, int kind, int protocol)'),
    setsockopt: define('int setsockopt(int fd, int level, int option, void *value, uint length)'),
    bind: define('int bind(int fd, void *address, uint length)'),
    connect: define('int connect(int fd, void *address, uint length)'),
    getsockname,
    close: define('int close(int fd)'),
    poll: define('int poll(void *fds, ulong count, int timeoutMs)'),
    recvmmsg: define('int recvmmsg(int fd, uintptr_t messages, uint count, int flags, uintptr_t timeout)'),
    sendmmsg: define('int sendmmsg(int fd, uintptr_t messages, uint count, int flags)'),
    errno,
    addressOf: (buffer) => koffi.address(buffer),
    watch: (fd, onReadable) => koffi.node.poll(fd, { readable: true }, onReadable),
    boundAddress: (fd) => {
      const address = new Uint8Array(28);
      getsockname(fd, address, new Uint8Array(Uint32Array.of(address.length).buffer));
      return address;
    },
    errorName,
  };
}

export const families = { inet: 2, inet6: 10 } as const;
const datagram = 2;
const closeOnExec = 0x8_0000;
const nonBlocking = 0x800;
const levels = { ip: 0, socket: 1, ipv6: 41 } as const;
const socketOptions = { sendBuffer: 7, receiveBuffer: 8, reusePort: 15 } as const;
const ipOptions = { packetInfo: 8, mtuDiscover: 10 } as const;
const ipv6Options = { only: 26, receivePacketInfo: 49 } as const;
/** Ignores path MTU messages: attackers can forge them to cause fragmentation, and fragments can be replaced. */
const omitPathMtu = 5;

/** Bytes of a socket address. */
export const socketAddressBytes = (family: number): number => (family === families.inet ? 16 : 28);

/** A bound datagram socket. */
export interface BoundSocket {
  readonly fd: number;
  readonly family: number;
  readonly port: number;
  /** Bound to every address: replies need the local address of the query. */
  readonly isWildcard: boolean;
}

/** A failure to open a socket; `code` is the system's error name. */
export class SocketError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Encodes a socket address for `bind` and `connect`; undefined if the text is not an address. */
export function encodeSocketAddress(address: string, port: number): Uint8Array | undefined {
  const parsed = addressBytes(address);
  if (parsed === undefined) return undefined;
  const isInet = parsed.length === 4;
  const family = isInet ? families.inet : families.inet6;
  const bytes = new Uint8Array(socketAddressBytes(family));
  bytes[0] = family;
  bytes[2] = port >> 8;
  bytes[3] = port & 0xff;
  bytes.set(parsed, isInet ? 4 : 8);
  return bytes;
}

/** Opens a datagram socket. `share`: other sockets may use the port too (SO_REUSEPORT). */
export function openSocket(
  native: Native,
  listen: { readonly address: string; readonly port: number; readonly share: boolean; readonly bufferBytes: number },
): BoundSocket {
  const address = encodeSocketAddress(listen.address, listen.port);
  if (address === undefined) throw new TypeError(`cannot listen on "${listen.address}": it is not an IP address`);
  const family = address[0] ?? 0;
  const fd = native.socket(family, datagram | closeOnExec | nonBlocking, 0);
  if (fd === -1) throw failure(native, listen);
  const isWildcard = address.subarray(4).every((byte) => byte === 0);
  const set = (level: number, option: number, value: number): number =>
    native.setsockopt(fd, level, option, new Uint8Array(Int32Array.of(value).buffer), 4);
  // Best effort: the system limits buffer sizes.
  set(levels.socket, socketOptions.receiveBuffer, listen.bufferBytes);
  set(levels.socket, socketOptions.sendBuffer, listen.bufferBytes);
  if (family === families.inet) {
    set(levels.ip, ipOptions.mtuDiscover, omitPathMtu);
    if (isWildcard) set(levels.ip, ipOptions.packetInfo, 1);
  } else {
    set(levels.ipv6, ipv6Options.only, 1);
    if (isWildcard) set(levels.ipv6, ipv6Options.receivePacketInfo, 1);
  }
  const canShare = !listen.share || set(levels.socket, socketOptions.reusePort, 1) === 0;
  if (!canShare || native.bind(fd, address, address.length) === -1) {
    const error = failure(native, listen);
    native.close(fd);
    throw error;
  }
  return { fd, family, isWildcard, port: boundPort(native, fd) };
}

function failure(native: Native, listen: { readonly address: string; readonly port: number }): SocketError {
  const code = native.errorName(native.errno());
  return listenError(code, listen);
}

/** The error for an address that cannot be listened on, with a remedy. */
export function listenError(code: string, { address, port }: { address: string; port: number }): SocketError {
  const endpoint = joinHostPort(address, port);
  if (code === 'EADDRINUSE') {
    return new SocketError(
      code,
      `DNS port ${endpoint} is in use: stop the program that uses it or choose another port with --listen (up: --port-base)`,
    );
  }
  if (code === 'EACCES') {
    return new SocketError(
      code,
      `DNS port ${endpoint} is reserved: run with CAP_NET_BIND_SERVICE or choose one above 1023`,
    );
  }
  if (code === 'EADDRNOTAVAIL') {
    return new SocketError(code, `cannot listen on ${endpoint}: no interface of this machine has that address`);
  }
  return new SocketError(code, `cannot listen on ${endpoint}: ${code}`);
}

function boundPort(native: Native, fd: number): number {
  const address = native.boundAddress(fd);
  return ((address[2] ?? 0) << 8) | (address[3] ?? 0);
}
