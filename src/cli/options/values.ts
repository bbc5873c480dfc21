// The values of flags. Every parser throws a UsageError with the expected form; `readFlag` adds the flag's name.
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import { isIP } from 'node:net';
import { canonicalCidr } from '../../api/addresses.ts';
import { dnsLabelErrors } from '../../api/names.ts';
import { messageOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';

/** Throws the error of a value: `what` completes "expected …". */
export const expected = (what: string): never => {
  throw new UsageError(`expected ${what}`);
};

/** A parser for one of `words`. */
export const oneOf =
  <const Word extends string>(words: readonly Word[]) =>
  (text: string): Word =>
    words.find((word) => word === text) ?? expected([words.slice(0, -1).join(', '), words.at(-1)].join(' or '));

/** A parser for a text that is not empty; `what` completes "expected …". */
export const nonEmpty =
  (what: string) =>
  (text: string): string =>
    text === '' ? expected(what) : text;

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((word) => [word, false] as const),
]);

/** Reads the words that Kubernetes' programs accept for true and false; the error is theirs. */
export function parseBoolean(text: string): boolean {
  const value = booleans.get(text);
  if (value === undefined) throw new UsageError(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  return value;
}

/** A parser for a whole number from `least` to `most`. */
export const countBetween =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= least && count <= most) return count;
    return expected(
      most === Number.MAX_SAFE_INTEGER ? `a whole number, ${least} or more` : `a whole number from ${least} to ${most}`,
    );
  };

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration in milliseconds: `15s`, `1m30s`, `1.5s` as Kubernetes' programs do, and days, as in `90d`. */
export function parseDuration(text: string): number {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text) || /\d{10}/.test(text))
    throw new UsageError(`time: invalid duration ${JSON.stringify(text)}: expected one such as 500ms, 15s or 1m30s`);
  let ms = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h|d)/gy))
    ms += Number(count) * (unitMs[unit] ?? 0);
  return ms;
}

/** A parser for a duration of at least `leastMs`; `least` is its text in the error. */
export const durationFrom =
  (leastMs: number, least: string) =>
  (text: string): number => {
    const ms = parseDuration(text);
    return ms < leastMs ? expected(`at least ${least}`) : ms;
  };

/** A parser for values between commas; empty ones are left out. An error names the value. */
export const listOf =
  <T>(parse: (text: string) => T) =>
  (text: string): readonly T[] =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => inList(part, parse));

/** Adds to an error which of several values it is about. */
export function inList<T>(part: string, parse: (text: string) => T): T {
  try {
    return parse(part);
  } catch (error) {
    throw new UsageError(`${JSON.stringify(part)}: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads a CIDR into its canonical form, or an address as the range of itself. */
export const parseRange = (text: string): string =>
  canonicalCidr(text) ??
  canonicalCidr(`${text}/${text.includes(':') ? 128 : 32}`) ??
  expected('a CIDR such as 10.0.0.0/8');

/** An address of an HTTP server. */
export function parseHttpUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new UsageError('expected http://… or https://…');
  return text;
}

/** Reads an IP address. */
export const parseAddress = (text: string): string =>
  isIP(text) === 0 ? expected('an IP address, such as 0.0.0.0') : text;

/** Reads a port number; 0 means any free port. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= largestPort ? port : expected(`a port from 0 to ${largestPort}`);
}

const largestPort = 65535;

/** An address and port to listen on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `127.0.0.1:10256` or `[::1]:10256`. */
export function parseListenAddress(text: string): ListenAddress {
  const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(text) ?? [];
  if (isIP(host) === 0) return expected('an address and a port, such as 127.0.0.1:10256');
  return { host, port: parsePort(port) };
}

/** Reads `gateway.example.org:9443`, `192.0.2.1:9443` or `[2001:db8::1]:9443`. */
export function parseHostPort(text: string): ListenAddress {
  const [, host = '', port = ''] = /^\[?([^\][/@\s]+?)\]?:(\d+)$/.exec(text) ?? [];
  if (host === '') return expected('a name or an address, and a port, such as gateway.example.org:9443');
  return { host, port: parsePort(port) };
}

/** Reads the ID of a cluster of a set. */
export function parseClusterId(text: string): string {
  const [problem] = clusterIdErrors(text);
  if (problem !== undefined) throw new UsageError(problem);
  return text;
}

/** Ports `from` to `to`, both included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** Reads `--service-node-port-range` as kube-apiserver does: `30000-32767`, `30000+2767`, or one port. */
export function parsePortRange(text: string): PortRange {
  const match = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(text.trim());
  if (match === null) return expected('a port range such as 30000-32767');
  const [, first = '', sign, second = first] = match;
  const from = Number(first);
  const to = sign === '+' ? from + Number(second) : Number(second);
  if (from < 1) throw new UsageError('it starts at port 0: the first port must be 1 or more');
  if (to > largestPort) throw new UsageError(`it ends at ${to}: the last port is ${largestPort}`);
  if (to < from) throw new UsageError('it ends before it starts');
  return { from, to };
}

/** Reads a namespace. */
export const parseNamespace = (text: string): string =>
  dnsLabelErrors(text).length > 0 ? expected('the name of a namespace, such as kube-system') : text;

/** Reads a cluster's name: a DNS label, since it becomes part of DNS names, contexts and directories. */
export const parseClusterName = (text: string): string =>
  text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)
    ? text
    : expected('up to 63 lower-case letters, digits and "-", as in "east"');

/** Splits `VALUE@NAME`, where the name picks one cluster; without it the value is for all of them. */
export function splitTarget(text: string, clusters: readonly string[]): { value: string; cluster: string | undefined } {
  const at = text.lastIndexOf('@');
  if (at === -1) return { value: text, cluster: undefined };
  const cluster = text.slice(at + 1);
  if (!clusters.includes(cluster)) {
    throw new UsageError(`no cluster "${cluster}": the clusters are ${clusters.join(', ')}`);
  }
  return { value: text.slice(0, at), cluster };
}
