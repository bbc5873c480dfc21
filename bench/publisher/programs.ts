// Programs that publish Services by DNS updates: ours, and ExternalDNS.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import { externalDnsFlags } from '../../test/publisher/external-dns.ts';
import { key, keyFile, zone } from '../../test/publisher/servers.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a program reads and writes. */
export interface Workplace {
  readonly kubeconfig: string;
  /** The address of the DNS server. */
  readonly server: { readonly address: string; readonly port: number };
  /** A directory for files of the program. */
  readonly directory: string;
}

/** A program that publishes Services. */
export interface PublisherProgram {
  readonly name: string;
  /** How many changes are measured: those of a slow program take long. */
  readonly changes: number;
  start(workplace: Workplace): Promise<ChildProcess>;
}

/** Our publisher as a separate process. */
export const fairleadPublisher: PublisherProgram = {
  name: 'Fairlead',
  changes: 100,
  async start({ kubeconfig, server, directory }) {
    const keyPath = join(directory, 'key.conf');
    await writeFile(keyPath, keyFile(key));
    const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
    const place = ['--zone', zone, '--server', `${server.address}:${server.port}`, '--tsig-key-file', keyPath];
    const flags = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--health-port', '0', '--log-level', 'warn'];
    return spawn(process.execPath, [program, 'publisher', ...flags, ...place], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  },
};

/** ExternalDNS at `path`, which follows changes of Services in addition to its interval of a minute. */
export const externalDns = (path: string): PublisherProgram => ({
  name: 'ExternalDNS',
  changes: 20,
  async start({ kubeconfig, server }) {
    const own = ['--policy=sync', '--txt-owner-id=default', '--events'];
    const flags = [...externalDnsFlags(kubeconfig, server), ...own];
    return spawn(path, flags, { stdio: ['ignore', 'ignore', 'inherit'] });
  },
});
