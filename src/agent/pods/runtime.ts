// What the agent's server needs about the Pods of this machine: logs, exec, attach, port-forward and statistics.
import type { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ContainerStatus, Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Client } from '../../client/client.ts';

/** The Pods that run on this machine, also those that are ending or whose object was deleted. */
export interface Runtime {
  pods(): readonly LocalPod[];
  /** The Pod with this name; with a UID only if it is that one. */
  find(namespace: string, name: string, uid?: string): LocalPod | undefined;
}

/** A Pod of this machine. The object is a snapshot: find the Pod again for a newer one. */
export interface LocalPod {
  /** The Pod with the status that the agent computed last, which may be newer than the one in the API. */
  readonly pod: Pod;
  /** Where its ports are reached from the machine, in every network mode; '' before it has an address. */
  readonly ip: string;
  /** The cgroup v2 directory of the Pod; undefined: there is none. */
  readonly cgroup: string | undefined;
  /** All containers of the spec in its order: init, regular, ephemeral. */
  readonly containers: readonly LocalContainer[];
}

export interface LocalContainer {
  readonly name: string;
  /** What the agent reports, waiting reasons among them; undefined: nothing yet. */
  readonly status: ContainerStatus | undefined;
  /** The main process and the leader of its session; undefined: it does not run. */
  readonly pid: number | undefined;
  /** The cgroup v2 directory of the container; undefined: count the processes of the sessions in `sessions`. */
  readonly cgroup: string | undefined;
  /**
   * The log files of the current or the previous instance, oldest first; empty: there is no such instance. A line is
   * `2006-01-02T15:04:05.000000000Z stdout F text`; `P` marks a part that the next line of the stream continues. The last
   * file is being written. When it is full it is renamed and a new one with its name begins: follow the inode.
   */
  logFiles(instance: 'current' | 'previous'): Promise<readonly string[]>;
  /** Starts another process with the environment, directory, user and namespaces of the container. Rejects if it cannot start. */
  start(command: readonly string[], options: ProcessStreams): Promise<StartedProcess>;
  /** The streams of the main process; undefined: it does not run. */
  attach(): Attachment | undefined;
  /** The IDs of the sessions of its processes: the main one, and those of `start`. */
  readonly sessions: readonly number[];
}

export interface ProcessStreams {
  /** Otherwise it reads end of file. */
  readonly stdin: boolean;
  /** A terminal: its output is `stdout`, and there is no `stderr`. */
  readonly tty: boolean;
}

/** A process that was started in the context of a container. It is killed with the container. */
export interface StartedProcess {
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable | undefined;
  /** Sets the size of the terminal, if it has one. */
  resize(columns: number, rows: number): void;
  /** Kills the process and its group. */
  kill(): void;
  /** Resolves with the exit code, 128 + n after signal n, when it has ended. Its streams may still hold output. */
  readonly exited: Promise<number>;
}

/** The streams of a main process. Ends with the process or with `dispose`, whichever comes first. */
export interface Attachment extends Disposable {
  /** undefined: the container has no `stdin`. Ending it closes the stream of the process if the container has `stdinOnce`. */
  readonly stdin: Writable | undefined;
  /** Called with the output from now on. A slow reader loses output rather than delaying the process. */
  onOutput(listener: (stream: 'stdout' | 'stderr', chunk: Buffer) => void): void;
  /** Whether the process has a terminal, whose output is all `stdout`. */
  readonly tty: boolean;
  resize(columns: number, rows: number): void;
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>;
}

/** How the agent starts its server: `startServer` of `api/server.ts`, `(options: NodeServerOptions) => Promise<NodeServer>`. */
export interface NodeServerOptions {
  readonly runtime: Runtime;
  readonly client: Client;
  readonly nodeName: string;
  /** The addresses for which its certificate must be valid, and the one it listens on. */
  readonly addresses: readonly string[];
  readonly listen: { readonly address: string; readonly port: number };
  /** Files of a certificate; undefined: it requests one from the API (kubernetes.io/kubelet-serving) or signs its own. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The authorities of client certificates of callers, PEM: those of the cluster. Undefined: callers need a token. */
  readonly clientCa?: string | undefined;
  /** A directory of the agent with mode 0700, for its key. */
  readonly directory: string;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** The running server of the agent. Its port is reported in the status of the Node. */
export interface NodeServer extends AsyncDisposable {
  readonly port: number;
  problems(): readonly string[];
}
