// What a container of the suite has on its path: nslookup and nc, asking the DNS server of the cluster it would be in.

import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes the programs into a folder; the result is the environment in which they are found. */
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
