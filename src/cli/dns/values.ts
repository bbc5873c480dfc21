// The values of flags that only the DNS server has.
import { parseEndpoint } from '../../dns/forward/endpoints.ts';
import type { Endpoint } from '../../dns/forward/udp.ts';
import type { Name } from '../../dnswire/data.ts';
import { parseName } from '../../dnswire/name.ts';
import { expected, inList } from '../options/values.ts';

/** A zone that is not the root. */
export function parseZone(text: string): Name {
  const name = parseName(text);
  return name === undefined || name === '' ? expected('a domain name, such as cluster.local') : name;
}

/** Reads an address with an optional port. */
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

/**
 * `ZONE=ADDR,ADDR`, repeated after commas: an element without `=` belongs to the zone before it, since configuration
 * files write a mapping on one line like that.
 */
export function parseStubZones(text: string): readonly (readonly [Name, readonly Endpoint[]])[] {
  const zones: [Name, Endpoint[]][] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    const at = part.indexOf('=');
    if (at !== -1) zones.push([inList(part.slice(0, at), parseZone), []]);
    const last = zones.at(-1);
    if (last === undefined) return expected('ZONE=ADDR, such as corp.example=192.0.2.1');
    const address = part.slice(at + 1);
    if (address !== '') last[1].push(inList(address, parseServer));
  }
  const empty = zones.find(([, servers]) => servers.length === 0);
  return empty === undefined ? zones : expected(`an address after "${empty[0]}="`);
}
