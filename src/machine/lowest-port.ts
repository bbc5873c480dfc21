import { readFileSync } from 'node:fs';

/** The bit of CAP_NET_BIND_SERVICE in the capabilities of a process. */
const bindService = 1n << 10n;

/** The lowest port that a process may listen on; 1 if the system does not report it. Default: this process. */
export function lowestPort(pid: number | 'self' = 'self'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, capabilities = 'f'.repeat(16)] = /^CapEff:\s*([\da-f]+)$/m.exec(status) ?? [];
    if ((BigInt(`0x${capabilities}`) & bindService) !== 0n) return 1;
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  } catch {
    return 1; // another system, or a process that has ended
  }
}
