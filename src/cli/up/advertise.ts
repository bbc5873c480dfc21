import type { NetworkInterfaceInfo } from 'node:os';
import { networkInterfaces } from 'node:os';

type Address = Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>;

/** The addresses of this machine that others can use, in the order the system lists them. */
export function machineAddresses(
  all: readonly Address[] = Object.values(networkInterfaces()).flatMap((list) => list ?? []),
): readonly Address[] {
  // A link-local address means nothing without the name of an interface, which a URL or a certificate cannot hold.
  return all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
}

/** The address that clients are told: where the server listens or, if that is everywhere, the machine's first address. */
export function defaultAdvertiseAddress(bind: string, addresses: readonly Address[] = machineAddresses()): string {
  if (bind === '0.0.0.0') return addresses.find(({ family }) => family === 'IPv4')?.address ?? '127.0.0.1';
  if (bind === '::') return addresses[0]?.address ?? '::1'; // it listens on IPv4 too
  return bind;
}
