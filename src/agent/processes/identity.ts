// Recognizes a process across restarts of the agent, although process IDs are reused.
import { readFileSync } from 'node:fs';

/** Refers to one process, also after another one got its ID. */
export interface ProcessId {
  readonly pid: number;
  readonly identity: string;
}

/** The boot and the start time of a process; undefined: there is no such process, or it is a zombie. */
export function identityOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = ''] = fields;
    const startTicks = fields[19] ?? '';
    return state === 'Z' || state === 'X' ? undefined : `${bootId()} ${startTicks}`;
  } catch {
    return undefined;
  }
}

let boot: string | undefined;

/** The ID of this boot of the machine. */
export function bootId(): string {
  try {
    return (boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  } catch {
    return (boot ??= 'unknown'); // not Linux
  }
}
