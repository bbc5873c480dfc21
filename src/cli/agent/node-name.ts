import { hostname } from 'node:os';
import { dnsSubdomainErrors } from '../../api/names.ts';
import type { Settings } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { expected } from '../options/values.ts';

/** The name of the Node of this machine. */
export const nodeNameOf = (settings: Settings = new Map()): string =>
  readFlag(settings, 'node-name', parseNodeName, hostname().toLowerCase());

function parseNodeName(text: string): string {
  const [error] = dnsSubdomainErrors(text);
  return error === undefined ? text : expected(`a name of a Node: ${error}`);
}
