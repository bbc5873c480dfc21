import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

import type { ListenAddress } from './transport/protocol.ts';

/** Addresses by which others reach this machine. */
export const machineAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
    .map(({ address }) => address);

/** Addresses by which a server that listens there is reached. */
export function reachedAt(listen: readonly ListenAddress[]): readonly string[] {
  const isEverywhere = listen.some(({ address }) => address === '0.0.0.0' || address === '::');
  return isEverywhere ? machineAddresses() : [...new Set(listen.map(({ address }) => address))];
}

/** The machine's own choice of DNS servers; empty where it has none. */
export const readResolvConf = (): Promise<string> => readFile('/etc/resolv.conf', 'utf8').catch(() => '');
