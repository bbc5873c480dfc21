import { isAbsolute, join } from 'node:path';

import { open } from 'node:fs/promises';

/** An entry of a kubeconfig, and the directory of its file, which its paths are relative to. */
export interface ConfigEntry {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly directory: string;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Anything but an object counts as an empty one. */
export const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** A field that is a text; an empty one counts as not given. */
export function textOf(entry: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = entry[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A path of an entry, as seen from here. */
export const pathOf = ({ directory }: ConfigEntry, path: string): string =>
  isAbsolute(path) ? path : join(directory, path);

/** What `<field>-data` holds in base64, or the file that `<field>` names; undefined when neither is given. */
export async function pemOf(config: ConfigEntry, field: string): Promise<string | undefined> {
  const data = textOf(config.entry, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  const path = textOf(config.entry, field);
  return path === undefined ? undefined : readBoundedFile(pathOf(config, path));
}

/** A kubeconfig, a token or a certificate is shorter by far; a device, or a file named by mistake, need not end at all. */
const mostFileBytes = 16 << 20;

/** Reads a text file that is not longer than `mostFileBytes`. */
export async function readBoundedFile(path: string): Promise<string> {
  await using file = await open(path);
  const pieces: Buffer[] = [];
  for (let length = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(64 << 10));
    if (bytesRead === 0) return Buffer.concat(pieces).toString();
    length += bytesRead;
    if (length > mostFileBytes) throw new Error(`${path} is longer than ${mostFileBytes} bytes`);
    pieces.push(buffer.subarray(0, bytesRead));
  }
}
