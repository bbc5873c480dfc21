// The DNS server in two environments: inside `fairlead up`, and alone with an API server.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort } from '../../src/server/testing/free-port.ts';
import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import type { Place } from './clients.ts';

/** A cluster with a DNS server. */
export interface Stand extends AsyncDisposable {
  readonly dns: Place;
  /** The process of the DNS server. */
  readonly process: FairleadProcess;
  /** The data directory of the server. */
  readonly directory: string;
  /** Runs kubectl and returns its output; rejects if it fails. */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  metrics(): Promise<string>;
}

/** Services of both families with fixed addresses. */
export const dualStack = ['--service-cluster-ip-range', '10.96.0.0/16,fd00:96::/108'] as const;

const kubectl = (kubeconfig: string) => {
  const found = findKubectls();
  return async (args: readonly string[], input = ''): Promise<string> => {
    const [{ path } = assert.fail('no kubectl')] = await found;
    const { out, err, code } = await run(path, args, { input, env: { KUBECONFIG: kubeconfig } });
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`);
    return out;
  };
};

/** Starts `fairlead up` with one cluster; `dns` is the YAML of its section. A given `directory` is kept. */
export async function startUp(
  options: { readonly flags?: readonly string[]; readonly dns?: string; readonly directory?: string } = {},
): Promise<Stand> {
  await using stack = new AsyncDisposableStack();
  const directory = options.directory ?? stack.use(await temporaryDirectory()).path;
  const config = join(directory, 'config.yaml');
  await writeFile(config, options.dns === undefined ? '' : `dns:\n${options.dns.replaceAll(/^(?=.)/gm, '  ')}`);
  const flags = ['--cluster', 'one', '--config', config, ...dualStack, ...(options.flags ?? [])];
  const fairlead = stack.use(await startFairlead(join(directory, 'data'), ['up', ...flags]));
  const [, address = '', port = ''] = /dns (\S+):(\d+)/.exec(fairlead.process.out) ?? [];
  const own = stack.move();
  const byKubectl = kubectl(fairlead.kubeconfig);
  return {
    dns: { address, port: Number(port) },
    process: fairlead.process,
    directory: fairlead.directory,
    kubectl: byKubectl,
    metrics: () => byKubectl(['get', '--raw', '/metrics']),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** `fairlead dns` and its API server. */
export interface StandAlone extends Stand {
  readonly server: FairleadServer;
  /** A kubeconfig of a user with the role of the part and no other rights. */
  readonly kubeconfig: string;
  /** Requests a path of the health port of the DNS server. */
  health(path: string): Promise<{ readonly status: number; readonly text: string }>;
}

/** Starts an API server, and `fairlead dns` for it. */
export async function startAlone(flags: readonly string[] = []): Promise<StandAlone> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await FairleadServer.start([...dualStack]));
  const kubeconfig = await dnsKubeconfig(server.directory);
  const dns = { address: '127.0.0.1', port: await freePort() };
  const process = stack.use(startDns(kubeconfig, dns, flags));
  await process.ready();
  const own = stack.move();
  const health = (path: string): ReturnType<StandAlone['health']> => askHealth(process, path);
  return {
    dns,
    process,
    directory: server.directory,
    server,
    kubeconfig,
    kubectl: kubectl(server.kubeconfig),
    health,
    metrics: async () => (await health('/metrics')).text,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Starts `fairlead dns`, without a lameduck period unless the flags set one. */
export function startDns(kubeconfig: string, { address, port }: Place, flags: readonly string[] = []): FairleadProcess {
  const listen = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  const health = ['--health-listen', '127.0.0.1:0', '--ready-listen', 'none', '--metrics-listen', 'none'];
  const calm = ['--upstream', 'none', '--lameduck', '0s', '--log-level', 'debug'];
  return new FairleadProcess(['dns', '--kubeconfig', kubeconfig, '--listen', listen, ...health, ...calm, ...flags]);
}

/** Requests a path of the health port that `fairlead dns` prints at its start. */
export async function askHealth(process: FairleadProcess, path: string): ReturnType<StandAlone['health']> {
  await process.prints(/\/readyz$/m);
  const [, url = ''] = /health\s+(http:\/\/\S+)\/readyz/.exec(process.out) ?? [];
  const answer = await fetch(`${url}${path}`);
  return { status: answer.status, text: await answer.text() };
}

/** Writes the kubeconfig of the DNS server, as an administrator does. */
async function dnsKubeconfig(directory: string): Promise<string> {
  const file = join(directory, 'dns.kubeconfig');
  const args = [join(root, 'bin', 'fairlead.js'), 'user', 'add', 'dns', '--part', '-o', file, '--data-dir', directory];
  const { code, err } = await run(process.execPath, args);
  assert.equal(code, 0, err);
  return file;
}

/** Runs `fairlead` until it exits. */
export const fairlead = (args: readonly string[]): ReturnType<typeof run> =>
  run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args]);

/** Applies the objects of a file in this folder. */
export const applyFile = async (stand: Stand, name: string): Promise<string> =>
  stand.kubectl(['apply', '-f', '-'], await readFile(join(import.meta.dirname, name), 'utf8'));
