import type { CLibrary } from '../../../machine/c-library.ts';
import { loadCLibrary } from '../../../machine/c-library.ts';

/**
 * Calls of the C library; each returns -1 on failure. Memory is passed by address, because converting a buffer costs 100 ns;
 * addresses are numbers, because those of user space have 47 bits.
 */
export interface Libc {
  readonly socket: (family: number, kind: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, option: number, value: number, length: number) => number;
  readonly getsockopt: (fd: number, level: number, option: number, value: number, length: number) => number;
  readonly bind: (fd: number, address: number, length: number) => number;
  readonly listen: (fd: number, backlog: number) => number;
  readonly accept4: (fd: number, address: number, length: number, flags: number) => number;
  readonly connect: (fd: number, address: number, length: number) => number;
  readonly recv: (fd: number, data: number, length: number, flags: number) => number;
  readonly send: (fd: number, data: number, length: number, flags: number) => number;
  readonly shutdown: (fd: number, how: number) => number;
  readonly close: (fd: number) => number;
  readonly epoll_create1: (flags: number) => number;
  readonly epoll_ctl: (epoll: number, operation: number, fd: number, event: number) => number;
  readonly epoll_wait: (epoll: number, events: number, count: number, timeoutMs: number) => number;
  readonly errno: () => number;
  /** The name of an error number, such as `EADDRINUSE`. */
  readonly errorName: (errno: number) => string;
  /** The address of a buffer's memory. The caller keeps the buffer referenced. */
  readonly addressOf: (buffer: Uint8Array) => number;
  /** Calls back whenever a descriptor is readable; the result stops that. */
  readonly watch: (fd: number, onReadable: () => void) => () => void;
}

/** The calls, or undefined where they are not available; Node's sockets are used then. */
export async function loadLibc(): Promise<Libc | undefined> {
  const library = await loadCLibrary();
  return library && bindCalls(library);
}

function bindCalls({ koffi, define, errno, errorName }: CLibrary): Libc {
  return {
    socket: define('int socket(int family, int kind, int protocol)'),
    setsockopt: define('int setsockopt(int fd, int level, int option, uintptr_t value, uint length)'),
    getsockopt: define('int getsockopt(int fd, int level, int option, uintptr_t value, uintptr_t length)'),
    bind: define('int bind(int fd, uintptr_t address, uint length)'),
    listen: define('int listen(int fd, int backlog)'),
    accept4: define('int accept4(int fd, uintptr_t address, uintptr_t length, int flags)'),
    connect: define('int connect(int fd, uintptr_t address, uint length)'),
    recv: define('long recv(int fd, uintptr_t data, ulong length, int flags)'),
    send: define('long send(int fd, uintptr_t data, ulong length, int flags)'),
    shutdown: define('int shutdown(int fd, int how)'),
    close: define('int close(int fd)'),
    epoll_create1: define('int epoll_create1(int flags)'),
    epoll_ctl: define('int epoll_ctl(int epoll, int operation, int fd, uintptr_t event)'),
    epoll_wait: define('int epoll_wait(int epoll, uintptr_t events, int count, int timeoutMs)'),
    errno,
    errorName,
    addressOf: (buffer) => Number(koffi.address(buffer)),
    watch: (fd, onReadable) => {
      const watching = koffi.node.poll(fd, { readable: true }, onReadable);
      return () => watching.close();
    },
  };
}

/** Error numbers of Linux that relays handle. */
export const errors = {
  again: 11,
  tooManyInProcess: 24,
  tooManyInSystem: 23,
  inProgress: 115,
  interrupted: 4,
} as const;

/** Whether no descriptor is left for this process or the machine. */
export const isOutOfDescriptors = (errno: number): boolean =>
  errno === errors.tooManyInProcess || errno === errors.tooManyInSystem;

export const families = { inet: 2, inet6: 10 } as const;
/** SOCK_STREAM, SOCK_NONBLOCK and SOCK_CLOEXEC. */
export const streamKind = 1 | 0x800 | 0x8_0000;
/** SOCK_NONBLOCK and SOCK_CLOEXEC, for accept4. */
export const acceptFlags = 0x800 | 0x8_0000;
export const levels = { socket: 1, tcp: 6, ipv6: 41 } as const;
export const socketOptions = {
  reuseAddress: 2,
  error: 4,
  keepAlive: 9,
  linger: 13,
  attachFilter: 26,
  detachFilter: 27,
} as const;
export const tcpOptions = { noDelay: 1, keepIdle: 4, keepInterval: 5, keepCount: 6 } as const;
export const ipv6Only = 26;
/** MSG_DONTWAIT and MSG_NOSIGNAL. */
export const messageFlags = 0x40 | 0x4000;
export const shutdownWrite = 1;

export const epoll = {
  add: 1,
  remove: 2,
  in: 0x1,
  out: 0x4,
  error: 0x8,
  hangUp: 0x10,
  readHangUp: 0x2000,
  exclusive: 0x1000_0000,
  edge: 0x8000_0000,
  /** The size of an `epoll_event`, which is packed on x64 only. */
  eventBytes: process.arch === 'x64' ? 12 : 16,
  /** The offset of its data. */
  dataOffset: process.arch === 'x64' ? 4 : 8,
} as const;
