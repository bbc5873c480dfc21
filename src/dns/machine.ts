import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

import type { ListenAddress } from './transport/protocol.ts';

/** Addresses by which others reach this machine. */
export const machineAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
    .map(({ address }) => address);

/** Whether anything of this machine has an IPv6 address. */
export const hasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6') === true);

/**
 * Where to listen for all that is asked for. `::` is everything, of both families: a socket for each, since one for both
 * would see IPv4 addresses in the dress of IPv6; IPv4 alone where there is no other, or where any port will do.
 */
export function listenPlaces(
  listen: readonly ListenAddress[],
  isIpv6There: () => boolean = hasIpv6,
): readonly ListenAddress[] {
  const all = listen.flatMap((place) => {
    if (place.address !== '::') return [place];
    const ipv4 = { ...place, address: '0.0.0.0' };
    return place.port === 0 || !isIpv6There() ? [ipv4] : [ipv4, place];
  });
  return all.filter(
    (place, index) =>
      place.port === 0 ||
      all.findIndex(({ address, port }) => address === place.address && port === place.port) === index,
  );
}

/** Addresses by which a server that listens there is reached. */
export function reachedAt(listen: readonly ListenAddress[]): readonly string[] {
  const isEverywhere = listen.some(({ address }) => address === '0.0.0.0' || address === '::');
  return isEverywhere ? machineAddresses() : [...new Set(listen.map(({ address }) => address))];
}

/** The machine's own choice of DNS servers; empty where it has none. */
export const readResolvConf = (): Promise<string> => readFile('/etc/resolv.conf', 'utf8').catch(() => '');
