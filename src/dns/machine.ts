import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

import type { ListenAddress } from './transport/protocol.ts';

/** Addresses of this machine that other machines can reach. */
export const machineAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
    .map(({ address }) => address);

/** Whether any interface of this machine has an IPv6 address. */
export const machineHasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6') === true);

/**
 * The sockets to open. `::` means all addresses of both families and becomes one socket per family, since a dual-stack
 * socket reports IPv4 clients by IPv4-mapped addresses; IPv4 only if the machine has no IPv6 or the port is 0.
 */
export function listenAddresses(
  listen: readonly ListenAddress[],
  hasAnyIpv6: () => boolean = machineHasIpv6,
): readonly ListenAddress[] {
  const all = listen.flatMap((listener) => {
    if (listener.address !== '::') return [listener];
    const ipv4 = { ...listener, address: '0.0.0.0' };
    return listener.port === 0 || !hasAnyIpv6() ? [ipv4] : [ipv4, listener];
  });
  return all.filter(
    (listener, index) =>
      listener.port === 0 ||
      all.findIndex(({ address, port }) => address === listener.address && port === listener.port) === index,
  );
}

/** Addresses at which clients reach a server with these listen addresses. */
export function serverAddresses(listen: readonly ListenAddress[]): readonly string[] {
  const isWildcard = listen.some(({ address }) => address === '0.0.0.0' || address === '::');
  return isWildcard ? machineAddresses() : [...new Set(listen.map(({ address }) => address))];
}

/** The text of /etc/resolv.conf; empty if it cannot be read. */
export const readResolvConf = (): Promise<string> => readFile('/etc/resolv.conf', 'utf8').catch(() => '');
