// The programs of a container of the suite: nslookup and nc, with the DNS server of its cluster.

import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes the programs into a folder and returns the environment with that folder on the PATH. */
export async function writeTools(
  folder: string,
  dns: { readonly address: string; readonly port: string },
): Promise<Readonly<Record<string, string>>> {
  const nc = join(import.meta.dirname, 'nc.ts');
  const scripts = {
    nslookup: `exec /usr/bin/nslookup -port=${dns.port} "$@" ${dns.address}`,
    nc: `exec "${process.execPath}" "${nc}" ${dns.address}:${dns.port} "$@"`,
  };
  for (const [name, line] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${line}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
}
