// Facts about this machine for its Node.
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { arch, availableParallelism, freemem, hostname, release, totalmem } from 'node:os';
import { bootId } from '../processes/identity.ts';

export interface MachineFacts {
  readonly hostname: string;
  readonly architecture: string;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** Measures of what can run out. */
export interface MachineUsage {
  readonly freeMemoryBytes: number;
  /** Free shares of the disk of the agent's directory: bytes, inodes. */
  readonly freeDiskShare: number;
  readonly freeInodeShare: number;
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

export async function machineFacts(directory: string): Promise<MachineFacts> {
  const { blocks, bsize } = await statfs(directory);
  return {
    hostname: hostname().toLowerCase(),
    architecture: architectures[arch()] ?? arch(),
    machineId: firstLine('/etc/machine-id'),
    systemUuid: firstLine('/sys/class/dmi/id/product_uuid') || firstLine('/etc/machine-id'),
    bootId: bootId(),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text('/etc/os-release'))?.[1] ?? 'Linux',
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    diskBytes: blocks * bsize,
  };
}

export async function machineUsage(directory: string): Promise<MachineUsage> {
  const { blocks, bavail, files, ffree } = await statfs(directory);
  return {
    freeMemoryBytes: availableMemory(),
    freeDiskShare: blocks === 0 ? 1 : bavail / blocks,
    freeInodeShare: files === 0 ? 1 : ffree / files,
  };
}

/** With what the system can free, such as its file cache. */
function availableMemory(): number {
  const [, kib] = /^MemAvailable:\s+(\d+) kB$/m.exec(text('/proc/meminfo')) ?? [];
  return kib === undefined ? freemem() : Number(kib) * 1024;
}

const firstLine = (path: string): string => text(path).split('\n', 1)[0]?.trim() ?? '';

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // another system, or no permission
  }
}
