// System calls for processes that Node does not have.
import { execFile } from 'node:child_process';
import { closeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { CLibrary } from '../../machine/c-library.ts';
import { loadCLibrary } from '../../machine/c-library.ts';

/** Calls for processes and named pipes. */
export interface ProcessCalls {
  /** Creates a named pipe for this user. */
  mkfifo(path: string): Promise<void>;
  /** Opens a descriptor of a process that is not a child; undefined: there is no such process, or the system has no pidfd. */
  pidfd(pid: number): Pidfd | undefined;
  /** Pseudo terminals; undefined without native code. */
  readonly terminal: TerminalCalls | undefined;
}

interface TerminalCalls {
  /** Allows others to open the terminal of a master, and returns its number. */
  unlock(master: number): number;
  resize(master: number, columns: number, rows: number): void;
}

/** Refers to one process, even after its ID is reused. */
export interface Pidfd extends Disposable {
  /** Calls back when the process has ended. */
  onExit(ended: () => void): void;
  /** The wait status after the process has ended; undefined: the kernel is older than Linux 6.15. */
  waitStatus(): number | undefined;
}

const pidfdOpen = 434;
/** `PIDFD_GET_INFO`, of a structure of 64 bytes. */
const getInfo = 0xc040ff0b;
/** `PIDFD_INFO_EXIT`: also after the process was reaped. */
const infoExit = 8n;
const exitCodeOffset = 60;
/** `TIOCSPTLCK`, `TIOCGPTN`, `TIOCSWINSZ`. */
const terminalRequests = { lock: 0x40045431, number: 0x80045430, size: 0x5414 };

/** Loads the calls; without native code, pipes are created by a program and there is no pidfd. */
export async function loadProcessCalls(): Promise<ProcessCalls> {
  const library = await loadCLibrary();
  return library === undefined ? byPrograms : native(library);
}

const run = promisify(execFile);

const byPrograms: ProcessCalls = {
  async mkfifo(path) {
    await run('mkfifo', ['-m', '600', path]);
  },
  pidfd: () => undefined,
  terminal: undefined,
};

function native({ koffi, define, errno, errorName }: CLibrary): ProcessCalls {
  const makePipe = define<(path: string, mode: number) => number>('int mkfifo(const char *path, uint mode)');
  const open = define<(call: number, pid: number, flags: number) => number>(
    'long syscall(long call, int pid, uint flags)',
  );
  const control = define<(fd: number, request: number, data: Uint8Array) => number>(
    'int ioctl(int fd, ulong request, _Inout_ uint8_t *data)',
  );
  const terminalCall = (fd: number, request: number, data: Uint8Array): void => {
    if (control(fd, request, data) !== 0) throw new Error(`cannot control a terminal: ${errorName(errno())}`);
  };
  return {
    terminal: {
      unlock(master) {
        const number = Buffer.alloc(4);
        terminalCall(master, terminalRequests.lock, Buffer.alloc(4));
        terminalCall(master, terminalRequests.number, number);
        return number.readInt32LE();
      },
      resize(master, columns, rows) {
        const size = Buffer.alloc(8);
        size.writeUInt16LE(rows);
        size.writeUInt16LE(columns, 2);
        terminalCall(master, terminalRequests.size, size);
      },
    },
    async mkfifo(path) {
      if (makePipe(path, 0o600) !== 0) throw new Error(`cannot create the pipe ${path}: ${errorName(errno())}`);
    },
    pidfd(pid) {
      const fd = open(pidfdOpen, pid, 0);
      if (fd < 0) return undefined;
      const watches: { close(): void }[] = [];
      return {
        onExit(ended) {
          const watch = koffi.node.poll(fd, { readable: true }, () => {
            watch.close();
            ended();
          });
          watches.push(watch);
        },
        waitStatus() {
          const info = Buffer.alloc(64);
          info.writeBigUInt64LE(infoExit);
          const isKnown = control(fd, getInfo, info) === 0 && (info.readBigUInt64LE() & infoExit) !== 0n;
          return isKnown ? info.readInt32LE(exitCodeOffset) : undefined;
        },
        [Symbol.dispose]() {
          for (const watch of watches) watch.close();
          closeSync(fd);
        },
      };
    },
  };
}
