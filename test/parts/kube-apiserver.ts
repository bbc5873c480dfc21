import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { freePort } from '../../src/server/testing/free-port.ts';

/** The paths of kube-apiserver and etcd, if they are installed. */
export function findKubeApiserver(): { readonly apiserver: string; readonly etcd: string } | undefined {
  const find = (variable: string, program: string): string | undefined =>
    process.env[variable] ??
    (process.env['PATH'] ?? '')
      .split(delimiter)
      .map((folder) => join(folder, program))
      .find((path) => existsSync(path));
  const [apiserver, etcd] = [find('KUBE_APISERVER', 'kube-apiserver'), find('ETCD', 'etcd')];
  return apiserver === undefined || etcd === undefined ? undefined : { apiserver, etcd };
}

const adminToken = 'admin-token';

/** A kube-apiserver with RBAC. */
export class KubeApiserver implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.url = `https://127.0.0.1:${port}`;
  }

  /** Starts it with its data in `folder`, or in the etcd of `--etcd-servers`. */
  static async start(
    folder: string,
    { apiserver, etcd }: { readonly apiserver: string; readonly etcd: string },
    flags: Readonly<Record<string, string>> = {},
  ): Promise<KubeApiserver> {
    const [port, client, peer] = [await freePort(), await freePort(), await freePort()];
    const server = new KubeApiserver(folder, port);
    await writeFile(join(folder, 'tokens.csv'), `${adminToken},admin,1,"system:masters"\n`);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    if (flags['etcd-servers'] === undefined) {
      server.#spawn(etcd, {
        'data-dir': join(folder, 'etcd'),
        'listen-client-urls': `http://127.0.0.1:${client}`,
        'advertise-client-urls': `http://127.0.0.1:${client}`,
        'listen-peer-urls': `http://127.0.0.1:${peer}`,
        'initial-advertise-peer-urls': `http://127.0.0.1:${peer}`,
        'initial-cluster': `default=http://127.0.0.1:${peer}`,
      });
    }
    server.#spawn(apiserver, {
      'etcd-servers': `http://127.0.0.1:${client}`,
      'secure-port': String(port),
      'bind-address': '127.0.0.1',
      'advertise-address': '192.0.2.10', // it does not announce a loopback address
      'cert-dir': join(folder, 'certificates'),
      'token-auth-file': join(folder, 'tokens.csv'),
      'authorization-mode': 'RBAC',
      'disable-admission-plugins': 'ServiceAccount', // nobody makes the accounts of Pods here
      'service-cluster-ip-range': '10.0.0.0/16',
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': join(folder, 'sa.key'),
      'service-account-signing-key-file': join(folder, 'sa.key'),
      ...flags,
    });
    return server;
  }

  /** Writes a kubeconfig with a token; default: that of the administrator. */
  async kubeconfig(name: string, token = adminToken): Promise<string> {
    const path = join(this.#folder, name);
    const config = {
      'current-context': 'peer',
      clusters: [{ name: 'peer', cluster: { server: this.url, 'insecure-skip-tls-verify': true } }],
      contexts: [{ name: 'peer', context: { cluster: 'peer', user: 'me' } }],
      users: [{ name: 'me', user: { token } }],
    };
    await writeFile(path, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
    return path;
  }

  /** Sends a signal to the server, such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    this.#children.at(-1)?.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.race([exited, delay(10_000).then(() => child.kill('SIGKILL'))]);
    }
  }

  #spawn(program: string, flags: Readonly<Record<string, string>>): void {
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    this.#children.push(spawn(program, args, { stdio: 'ignore' }));
  }
}
