import { open } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

import { fileErrorOf } from '../api/error-message.ts';
import { KubeconfigError } from './errors.ts';

/** An entry of a kubeconfig, and the directory of its file. Paths in the entry are relative to that directory. */
export interface ConfigEntry {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly directory: string;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value if it is an object, otherwise an empty object. */
export const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** A field that is a non-empty string. */
export function textOf(entry: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = entry[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Resolves a path of an entry. */
export const pathOf = ({ directory }: ConfigEntry, path: string): string =>
  isAbsolute(path) ? path : join(directory, path);

/**
 * The decoded `<field>-data`, or the content of the file that `<field>` names; undefined if neither is set. Throws a
 * KubeconfigError if the file cannot be read.
 */
export async function pemOf(config: ConfigEntry, field: string): Promise<string | undefined> {
  const data = textOf(config.entry, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  const path = textOf(config.entry, field);
  if (path === undefined) return undefined;
  const file = pathOf(config, path);
  return readBoundedFile(file).catch((cause: unknown) => {
    throw new KubeconfigError(`cannot read ${field} ${file}: ${fileErrorOf(cause)}`, { cause });
  });
}

/** Kubeconfigs, tokens and certificates are much smaller. The bound is for devices and for files named by mistake. */
const maxFileBytes = 16 << 20;

/** Reads a text file; rejects if it is larger than `maxFileBytes`. */
export async function readBoundedFile(path: string): Promise<string> {
  await using file = await open(path);
  const pieces: Buffer[] = [];
  for (let length = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(64 << 10));
    if (bytesRead === 0) return Buffer.concat(pieces).toString();
    length += bytesRead;
    if (length > maxFileBytes) throw new Error(`${path} is longer than ${maxFileBytes} bytes`);
    pieces.push(buffer.subarray(0, bytesRead));
  }
}
