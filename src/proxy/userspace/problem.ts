import type { Route } from '../routes/route.ts';

/** Why the address of a route could not be held, and what to do about it. */
export function doorProblem({ owner, address, port, protocol }: Route, error: unknown): string {
  const where = `${address.includes(':') ? `[${address}]` : address}:${port}/${protocol}`;
  return `${owner} is not served at ${where}: ${reasonOf(codeOf(error), address, error)}`;
}

function reasonOf(code: string, address: string, error: unknown): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'another program has that port: stop it, or give the Service another';
    case 'EACCES':
      return (
        'ports below 1024 are reserved: run with CAP_NET_BIND_SERVICE, or set ' +
        'sysctl net.ipv4.ip_unprivileged_port_start=0'
      );
    case 'EADDRNOTAVAIL':
      return (
        'it is no address of this machine: have the kernel take it for one with ' +
        `\`ip route add local ${address} dev lo\` (or the range it is in), or use --proxy-mode nftables`
      );
    case 'EMFILE':
    case 'ENFILE':
      return 'there are no descriptors left: raise `ulimit -n`; every address and port takes one';
    default:
      return code === '' ? String(error) : code;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
