// Parsers of single option values. Their errors name what was expected.
import { canonicalCidr } from '../api/addresses.ts';
import { parseEndpoint } from './forward/endpoints.ts';
import type { Endpoint } from './forward/udp.ts';
import type { Name } from '../dnswire/data.ts';
import { parseName } from '../dnswire/name.ts';

/** An invalid option: printed as one line, exit code 2. */
export class ConfigError extends Error {
  readonly code = 'USAGE';
}

const expected = (what: string): never => {
  throw new ConfigError(`expected ${what}`);
};

/** `true` or `false`. */
export const parseBoolean = (text: string): boolean =>
  text === 'true' || (text === 'false' ? false : expected('true or false'));

/** An integer within bounds. */
export const parseCount =
  (least: number, most: number) =>
  (text: string): number => {
    const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    return count >= least && count <= most ? count : expected(`a whole number from ${least} to ${most}`);
  };

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1m30s` in milliseconds. */
export function parseDurationMs(text: string): number {
  if (!/^(?:\d{1,9}(?:ms|s|m|h|d))+$/.test(text)) return expected('a duration, such as 4s, 500ms or 24h');
  let ms = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+)(ms|s|m|h|d)/gy))
    ms += Number(count) * (unitMs[unit] ?? 0);
  return ms;
}

/** One of the given words. */
export const parseWord =
  <const Word extends string>(words: readonly Word[]) =>
  (text: string): Word =>
    words.find((word) => word === text) ?? expected(`${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);

/** A zone that is not the root. */
export function parseZone(text: string): Name {
  const name = parseName(text);
  return name === undefined || name === '' ? expected('a domain name, such as cluster.local') : name;
}

/** A comma-separated list, possibly empty. */
export const parseList =
  <T>(parse: (text: string) => T) =>
  (text: string): readonly T[] =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => named(part, parse));

/** Adds the list element to the error of its parser. */
function named<T>(part: string, parse: (text: string) => T): T {
  try {
    return parse(part);
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(`"${part}": ${error.message}`, { cause: error }) : error;
  }
}

export const parseRange = (text: string): string =>
  canonicalCidr(text) ??
  canonicalCidr(`${text}/${text.includes(':') ? 128 : 32}`) ??
  expected('a CIDR such as 10.0.0.0/8');

export const parseServer = (text: string): Endpoint =>
  parseEndpoint(text) ?? expected('an address such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:53');

/** `ADDR:PORT` or `:PORT` for all addresses. Port 0 is any free port. */
export function parseListen(text: string): Endpoint {
  const anyPort = /^(\[[^\]]*\]|[^:]*):0$/.exec(text)?.[1];
  const full = anyPort === undefined ? text : `${anyPort}:53`;
  const endpoint = parseEndpoint(full.startsWith(':') ? `[::]${full}` : full);
  if (endpoint === undefined) return expected('ADDR:PORT, such as :53, 127.0.0.1:1053 or [::1]:53');
  return anyPort === undefined ? endpoint : { ...endpoint, port: 0 };
}

/** `none` becomes undefined. */
export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | undefined =>
    text === 'none' ? undefined : parse(text);

const namespacePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const parseNamespace = (text: string): string =>
  namespacePattern.test(text) ? text : expected('a namespace name');

/**
 * `ZONE=ADDR,ADDR`, repeated after commas: an element without `=` belongs to the zone before it, since configuration
 * files write a mapping on one line like that.
 */
export function parseStubZones(text: string): readonly (readonly [Name, readonly Endpoint[]])[] {
  const zones: [Name, Endpoint[]][] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    const at = part.indexOf('=');
    if (at !== -1) zones.push([named(part.slice(0, at), parseZone), []]);
    const last = zones.at(-1);
    if (last === undefined) return expected('ZONE=ADDR, such as corp.example=192.0.2.1');
    const address = part.slice(at + 1);
    if (address !== '') last[1].push(named(address, parseServer));
  }
  const empty = zones.find(([, servers]) => servers.length === 0);
  return empty === undefined ? zones : expected(`an address after "${empty[0]}="`);
}
