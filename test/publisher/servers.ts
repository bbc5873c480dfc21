// BIND and Knot with a zone that a TSIG key may change and transfer.
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../../src/server/testing/until.ts';
import { freePort } from '../../src/server/testing/free-port.ts';
import type { Running } from '../harness/command.ts';
import { run, start } from '../harness/command.ts';
import { find } from '../harness/needs.ts';
import type { Place } from '../dns/clients.ts';
import { dig } from '../dns/clients.ts';

export type Maker = 'BIND' | 'Knot';

/** A key of the servers, and the file that holds it. */
export interface Key {
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

export const key: Key = {
  name: 'fl-key',
  algorithm: 'hmac-sha256',
  secret: Buffer.from('a secret of thirty-two bytes....').toString('base64'),
};

/** A second key, of another algorithm, to rotate to. */
export const nextKey: Key = {
  name: 'next-key',
  algorithm: 'hmac-sha512',
  secret: Buffer.from('another secret, which is for after the rotation of the key......').toString('base64'),
};

/** The text of a key file, as tsig-keygen prints it. */
export const keyFile = ({ name, algorithm, secret }: Key): string =>
  `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${secret}";\n};\n`;

const apex = `
$ORIGIN example.org.
$TTL 300
@    IN SOA ns.example.net. hostmaster 1 7200 1800 86400 60
@    IN NS  ns.example.net.
`;

/** The records of the zone before anything is published. */
const otherRecords = `
ns   IN A   192.0.2.53
www  IN A   192.0.2.80
mail IN MX  10 www
`;

export const zone = 'example.org';

export interface PrimaryOptions {
  readonly keys?: readonly Key[];
  /** The keys may only transfer the zone. */
  readonly isReadOnly?: boolean;
  /** The port of BIND's statistics; 0: none. */
  readonly statisticsPort?: number;
  /** The zone has only its SOA and NS records. */
  readonly isEmpty?: boolean;
}

/** A DNS server with the zone example.org, which can be stopped and started again. */
export class PrimaryServer implements AsyncDisposable {
  readonly place: Place;
  readonly #maker: Maker;
  readonly #folder: string;
  readonly #options: Required<PrimaryOptions>;
  #running: Running | undefined;

  private constructor(
    maker: Maker,
    folder: string,
    { place, ...options }: Required<PrimaryOptions> & { readonly place: Place },
  ) {
    this.place = place;
    this.#maker = maker;
    this.#folder = folder;
    this.#options = options;
  }

  static async start(
    maker: Maker,
    { keys = [key, nextKey], isReadOnly = false, statisticsPort = 0, isEmpty = false }: PrimaryOptions = {},
  ): Promise<PrimaryServer> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-primary-'));
    const place = { address: '127.0.0.1', port: await freePort() };
    const server = new PrimaryServer(maker, folder, { place, keys, isReadOnly, statisticsPort, isEmpty });
    await writeFile(join(folder, 'example.org.zone'), isEmpty ? apex : apex + otherRecords);
    await server.start();
    return server;
  }

  get pid(): number {
    return this.#running?.pid ?? 0;
  }

  get log(): string {
    return this.#running?.printed ?? '';
  }

  /** The records of the zone by AXFR, as `NAME TTL IN TYPE DATA`, without the SOA record. */
  async records(): Promise<readonly string[]> {
    const secret = `${key.algorithm}:${key.name}:${key.secret}`;
    const { address, port } = this.place;
    const args = [`@${address}`, '-p', String(port), '-y', secret, zone, 'AXFR', '+noall', '+answer', '+onesoa'];
    const { out } = await run('dig', args);
    const lines = out.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim());
    return lines.filter((line) => line !== '' && !line.includes(' IN SOA ')).toSorted();
  }

  /** Restarts with the records of another file in the zone. */
  async include(path: string): Promise<void> {
    await appendFile(join(this.#folder, 'example.org.zone'), `$INCLUDE ${path}\n`);
    await this.restart();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async start(keys: readonly Key[] = this.#options.keys): Promise<void> {
    const config = this.#maker === 'BIND' ? this.#bindConfig(keys) : this.#knotConfig(keys);
    await writeFile(join(this.#folder, 'config'), config);
    const command = this.#maker === 'BIND' ? `${find('named')} -g -n 1 -c config` : `${find('knotd')} -c config`;
    this.#running = start('sh', ['-c', `exec ${command} 2>&1`], { cwd: this.#folder, timeoutMs: 600_000 });
    await until(`${this.#maker} answers: ${this.log}`, async () => {
      const reply = await dig(this.place, zone, 'SOA', '+time=1').catch(() => undefined);
      return reply?.status === 'NOERROR';
    });
  }

  async stop(): Promise<void> {
    this.#running?.[Symbol.dispose]();
    await this.#running?.ended.catch(() => undefined); // ended by us
    this.#running = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true });
  }

  #bindConfig(keys: readonly Key[]): string {
    const { isReadOnly, statisticsPort } = this.#options;
    const names = keys.map(({ name }) => `key ${name};`).join(' ');
    return `
      options {
        directory "${this.#folder}"; listen-on port ${this.place.port} { 127.0.0.1; }; listen-on-v6 { none; };
        recursion no; pid-file none; session-keyfile none; managed-keys-directory "${this.#folder}"; dnssec-validation no;
        minimal-responses yes; notify no;
      };
      controls {};
      ${statisticsPort === 0 ? '' : `statistics-channels { inet 127.0.0.1 port ${statisticsPort} allow { 127.0.0.1; }; };`}
      ${keys.map(keyFile).join('\n')}
      zone "example.org" {
        type primary; file "example.org.zone"; allow-transfer { ${names} };
        ${isReadOnly ? '' : `update-policy { ${keys.map(({ name }) => `grant ${name} zonesub ANY;`).join(' ')} };`}
      };`;
  }

  #knotConfig(keys: readonly Key[]): string {
    const entry = ({ name, algorithm, secret }: Key): string =>
      `  - id: ${name}.\n    algorithm: ${algorithm}\n    secret: ${secret}\n`;
    const actions = this.#options.isReadOnly ? 'transfer' : '[update, transfer]';
    const acl = ({ name }: Key): string => `  - id: ${name}\n    key: ${name}.\n    action: ${actions}\n`;
    return `
server:
    listen: 127.0.0.1@${this.place.port}
    rundir: ${this.#folder}
database:
    storage: ${this.#folder}
log:
  - target: stderr
    any: info
key:
${keys.map(entry).join('')}
acl:
${keys.map(acl).join('')}
zone:
  - domain: example.org
    storage: ${this.#folder}
    file: example.org.zone
    acl: [${keys.map(({ name }) => name).join(', ')}]
`;
  }
}
