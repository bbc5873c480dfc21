import { isIP } from 'node:net';
import { UsageError } from '../errors.ts';
import { parsePort } from './ports.ts';

/** Where something listens. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Reads `127.0.0.1:10256` or `[::1]:10256`. */
export function parsePlace(text: string): Place {
  const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(text) ?? [];
  if (isIP(host) === 0) throw new UsageError('expected an address and a port, such as 127.0.0.1:10256');
  return { host, port: parsePort(port) };
}
