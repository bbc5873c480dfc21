// The formats of the kernel for what processes and control groups use. Pure, except for reading the time of the machine.

import { cpus } from 'node:os';

/** Ticks of a second in `/proc/PID/stat`: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;
const pageBytes = 4096;

/** A process: its session, its processor time with that of its ended children, and its resident memory. */
export interface ProcessUsage {
  readonly session: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** Parses `/proc/PID/stat`; undefined for another text. */
export function parseProcess(stat: string): ProcessUsage | undefined {
  // The name of the program is in parentheses and may contain anything.
  const end = stat.lastIndexOf(')');
  const fields = stat
    .slice(end + 2)
    .split(' ')
    .map(Number);
  const [, , , session = NaN] = fields;
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + (fields[index] ?? NaN), 0);
  const pages = fields[21] ?? NaN;
  if (end < 0 || Number.isNaN(session + ticks + pages)) return undefined;
  return { session, cpuSeconds: ticks / ticksPerSecond, memoryBytes: pages * pageBytes };
}

/** The seconds in `cpu.stat` of a control group. */
export const parseCgroupCpu = (text: string): number => Number(/^usage_usec (\d+)$/m.exec(text)?.[1] ?? 0) / 1e6;

/** The memory of a control group without file pages that can be reclaimed. */
export const workingSetOf = (current: string, stat: string): number =>
  Math.max(0, (Number(current) || 0) - Number(/^inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0));

/** The processor time of the machine in seconds. */
export async function machineCpuSeconds(): Promise<number> {
  const ms = cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  return ms / 1000;
}
