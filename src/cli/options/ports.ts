import { UsageError } from '../errors.ts';

/** Ports `from` to `to`, both included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

const largestPort = 65535;

/** Reads a port number; 0 means any free port. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= largestPort) return port;
  throw new UsageError(`${JSON.stringify(text)} is not a port: expected a number from 0 to ${largestPort}`);
}

/** Reads `--service-node-port-range` as kube-apiserver does: `30000-32767`, `30000+2767`, or one port. */
export function parsePortRange(text: string): PortRange {
  const match = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(text.trim());
  if (match === null) {
    throw new UsageError(`${JSON.stringify(text)} is not a port range such as 30000-32767`);
  }
  const [, first = '', sign, second = first] = match;
  const from = Number(first);
  const to = sign === '+' ? from + Number(second) : Number(second);
  if (from < 1) throw new UsageError(`${JSON.stringify(text)} starts at port 0: the first port must be 1 or more`);
  if (to > largestPort) throw new UsageError(`${JSON.stringify(text)} ends at ${to}: the last port is ${largestPort}`);
  if (to < from) throw new UsageError(`${JSON.stringify(text)} ends before it starts`);
  return { from, to };
}
