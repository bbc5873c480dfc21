// Opens and configures TCP sockets.
import type { AllowedSources } from '../allowed-sources.ts';
import { filterBytes, filterSteps } from './filter.ts';
import type { Libc } from './libc.ts';
import { errors, families, ipv6Only, levels, socketOptions, streamKind, tcpOptions } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocateWith } from './memory.ts';
import { encodeSocketAddress } from './socket-address.ts';

const backlog = 4096;
/** Detects dead peers after about two minutes. */
const keepAlive = { idle: 60, interval: 20, count: 3 } as const;

/** Opens sockets of one thread. */
export class Sockets {
  readonly #libc: Libc;
  readonly #one: Memory;
  readonly #number: Memory;
  readonly #numberLength: Memory;
  readonly #abort: Memory;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#one = allocateWith(libc, bytesOf(1));
    this.#number = allocateWith(libc, bytesOf(0));
    this.#numberLength = allocateWith(libc, bytesOf(4));
    this.#abort = allocateWith(libc, new Uint8Array(Int32Array.of(1, 0).buffer));
  }

  /** Opens a listener; throws an error with the system's `code`. Accepted connections inherit its settings. */
  listen(address: string, port: number, allowedSources: AllowedSources = []): number {
    const libc = this.#libc;
    const where = allocateWith(libc, encodeSocketAddress(address, port));
    const family = where.bytes[0] ?? 0;
    const fd = libc.socket(family, streamKind, 0);
    if (fd === -1) throw systemError(libc);
    const set = (level: number, option: number, value: number): void => {
      this.#number.bytes.writeInt32LE(value);
      libc.setsockopt(fd, level, option, this.#number.address, 4);
    };
    set(levels.socket, socketOptions.reuseAddress, 1);
    if (family === families.inet6) set(levels.ipv6, ipv6Only, 1);
    set(levels.tcp, tcpOptions.noDelay, 1);
    set(levels.socket, socketOptions.keepAlive, 1);
    set(levels.tcp, tcpOptions.keepIdle, keepAlive.idle);
    set(levels.tcp, tcpOptions.keepInterval, keepAlive.interval);
    set(levels.tcp, tcpOptions.keepCount, keepAlive.count);
    if (allowedSources.length > 0) this.setAllowedSources(fd, address, allowedSources);
    if (libc.bind(fd, where.address, where.bytes.length) === 0 && libc.listen(fd, backlog) === 0) return fd;
    const error = systemError(libc);
    libc.close(fd);
    throw error;
  }

  /** Starts to connect; -1 if that fails. */
  connect(to: Memory): number {
    const libc = this.#libc;
    const fd = libc.socket(to.bytes[0] ?? 0, streamKind, 0);
    if (fd === -1) return -1;
    libc.setsockopt(fd, levels.tcp, tcpOptions.noDelay, this.#one.address, 4);
    libc.setsockopt(fd, levels.socket, socketOptions.keepAlive, this.#one.address, 4);
    if (libc.connect(fd, to.address, to.bytes.length) === 0 || libc.errno() === errors.inProgress) return fd;
    libc.close(fd);
    return -1;
  }

  /** Whether a socket that was connecting has failed. */
  hasFailed(fd: number): boolean {
    this.#number.bytes.writeInt32LE(0);
    this.#numberLength.bytes.writeInt32LE(4);
    const { address } = this.#number;
    this.#libc.getsockopt(fd, levels.socket, socketOptions.error, address, this.#numberLength.address);
    return this.#number.bytes.readInt32LE() !== 0;
  }

  /** Makes `close` send a reset, so that the peer does not take a truncated stream for a complete one. */
  resetOnClose(fd: number): void {
    this.#libc.setsockopt(fd, levels.socket, socketOptions.linger, this.#abort.address, 8);
  }

  /**
   * Makes the kernel drop packets of other sources at a listener; accepted connections continue. If the filter is too long for
   * the kernel, there is none, and connections of other sources are reset.
   */
  setAllowedSources(fd: number, address: string, allowedSources: AllowedSources): void {
    const libc = this.#libc;
    const set = (option: number, value: Memory): number =>
      libc.setsockopt(fd, levels.socket, option, value.address, value.bytes.length);
    if (allowedSources.length > 0) {
      const steps = filterSteps(allowedSources, address.includes(':') ? 'IPv6' : 'IPv4');
      const program = allocateWith(libc, filterBytes(steps));
      const view = new DataView(new ArrayBuffer(16));
      view.setUint16(0, steps.length, true);
      view.setBigUint64(8, BigInt(program.address), true);
      const isSet = set(socketOptions.attachFilter, allocateWith(libc, new Uint8Array(view.buffer))) === 0;
      if (isSet && program.bytes.length > 0) return; // keeps the program referenced until here
    }
    set(socketOptions.detachFilter, this.#one);
  }
}

const bytesOf = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer);

/** The last error, with Node's code. */
export function systemError(libc: Libc): Error & { readonly code: string } {
  const code = libc.errorName(libc.errno());
  return Object.assign(new Error(code), { code });
}
