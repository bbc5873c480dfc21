import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../../src/server/testing/until.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import { start } from '../harness/command.ts';
import { find } from '../harness/needs.ts';
import type { Place } from './clients.ts';
import { dig } from './clients.ts';

/** A running BIND. */
export interface Bind extends AsyncDisposable {
  readonly place: Place;
  /** The log of BIND. */
  readonly log: () => string;
}

export interface BindOptions {
  /** Statements of named.conf after its options, such as zones; files are in the folder of the server. */
  readonly zones: string;
  /** Name → text. */
  readonly files?: Readonly<Record<string, string>>;
  /** A name that BIND answers once it is ready. */
  readonly probe: string;
  readonly port?: number;
}

/** Starts BIND on 127.0.0.1 with a temporary folder. */
export async function startBind({ zones, files = {}, probe, port }: BindOptions): Promise<Bind> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-bind-'));
  const place = { address: '127.0.0.1', port: port ?? (await freePort()) };
  const config = `
    options {
      directory "${folder}"; listen-on port ${place.port} { 127.0.0.1; }; listen-on-v6 { none; };
      recursion no; pid-file none; session-keyfile none; managed-keys-directory "${folder}"; dnssec-validation no;
      minimal-responses yes; allow-transfer { any; };
    };
    controls {};
    ${zones}`;
  await Promise.all(Object.entries({ ...files, config }).map(([name, text]) => writeFile(join(folder, name), text)));
  // BIND logs to stderr, which is part of the printed text
  const running = start('sh', ['-c', `exec ${find('named')} -g -n 1 -c config 2>&1`], { cwd: folder });
  const bind: Bind = {
    place,
    log: () => running.printed,
    async [Symbol.asyncDispose]() {
      running[Symbol.dispose]();
      await running.ended.catch(() => undefined); // terminated by this function
      await rm(folder, { recursive: true });
    },
  };
  try {
    await until(`BIND answers for ${probe}: ${running.printed}`, async () => {
      const reply = await dig(place, probe, 'SOA', '+time=1').catch(() => undefined);
      return reply?.status === 'NOERROR';
    });
    return bind;
  } catch (error) {
    await bind[Symbol.asyncDispose]();
    throw new Error(`BIND did not start: ${running.printed}`, { cause: error });
  }
}

/** A zone outside the cluster. */
export const exampleOrg = `
$ORIGIN example.org.
$TTL 300
@      IN SOA ns hostmaster 7 7200 1800 86400 60
@      IN NS  ns
ns     IN A   192.0.2.53
www    IN A   192.0.2.1
www    IN AAAA 2001:db8::1
www    IN TXT "the world"
rebind IN A   192.0.2.7
rebind IN A   127.0.0.1
router IN A   192.168.0.1
`;

/** Starts a BIND that serves example.org. */
export const startOutside = (): Promise<Bind> =>
  startBind({
    zones: 'zone "example.org" { type primary; file "zone"; };',
    files: { zone: exampleOrg },
    probe: 'example.org',
  });
