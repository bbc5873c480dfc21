// Keeps a Pod in the API for each file in the directory of registrations, ready while its check succeeds.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { Lister } from '../../client/object-cache.ts';
import { statusPatch } from '../pods/status-patch.ts';
import { check } from '../probes/check.ts';
import { mirrorAnnotation, mirrorPod, mirrorStatus, portProblem } from './mirror-pod.ts';
import type { RegisteredProcess } from './registration-file.ts';
import { parseRegistration } from './registration-file.ts';

export interface RegistrationsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly directory: string;
  readonly nodeName: string;
  readonly pods: Lister<Pod>;
  readonly services: Lister<Service>;
}

/** How often the directory is read, and checks that are due run. */
const beatMs = 1000;
const checkTimeoutMs = 3000;
const run = promisify(execFile);

interface Known {
  readonly hash: string;
  readonly process: RegisteredProcess;
  nextCheckAt: number;
  isReady: boolean;
}

/** The Pods of registrations are named after their file, and the node. */
export class Registrations {
  readonly #options: RegistrationsOptions;
  /** file → what it registers */
  readonly #known = new Map<string, Known>();
  /** file → why it is not in use */
  readonly #problems = new Map<string, string>();

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** Reconciles the files until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (; !signal.aborted; await sleep(clock, beatMs, signal)) {
      try {
        await this.#read();
        await Promise.all(Array.from(this.#known, ([file, known]) => this.#sync(file, known, signal)));
        await this.#deleteOthers(signal);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'could not reconcile registrations, retrying');
      }
    }
  }

  async #read(): Promise<void> {
    const names = await readdir(this.#options.directory).catch((): string[] => []);
    const files = names.filter((name) => /\.ya?ml$/.test(name));
    for (const file of this.#known.keys()) if (!files.includes(file)) this.#known.delete(file);
    for (const file of files) {
      const text = await readFile(join(this.#options.directory, file), 'utf8');
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
      if (this.#known.get(file)?.hash === hash) continue;
      try {
        this.#known.set(file, { hash, process: parseRegistration(text), nextCheckAt: 0, isReady: false });
        this.#report(file, undefined);
      } catch (error) {
        this.#report(file, messageOf(error)); // the registration before stays
      }
    }
  }

  async #sync(file: string, known: Known, signal: AbortSignal): Promise<void> {
    const { client, clock, services } = this.#options;
    const { namespace, service: serviceName, intervalSeconds } = known.process;
    const service = services.get(`${namespace}/${serviceName}`);
    if (service === undefined) return this.#report(file, `Service "${namespace}/${serviceName}" does not exist`);
    if (known.nextCheckAt <= clock.now()) {
      known.isReady = await isHealthy(known.process);
      known.nextCheckAt = clock.now() + intervalSeconds * 1000;
    }
    const pod = await this.#pod(file, known, service, signal);
    if (pod === undefined) return this.#report(file, `Service "${namespace}/${serviceName}" has no selector`);
    const mismatch = portProblem(known.process, service);
    this.#report(file, mismatch);
    const problem = mismatch ?? (known.isReady ? undefined : 'the check of the registered process fails');
    const body = statusPatch(pod, mirrorStatus(pod, known.process, { problem, now: clock.now() }));
    if (body === undefined) return;
    await client.patch(
      podKind,
      { namespace, name: pod.metadata.name ?? '' },
      { body, type: 'strategic', subresource: 'status', signal },
    );
  }

  /** The Pod of a registration, which is created or replaced if it differs. */
  async #pod(file: string, { process, hash }: Known, service: Service, signal: AbortSignal): Promise<Pod | undefined> {
    const { client, nodeName, pods } = this.#options;
    const { namespace } = process;
    const name = `${file.replace(/\.ya?ml$/, '')}-${nodeName}`;
    const found = pods.get(`${namespace}/${name}`);
    const own = `${hash}-${JSON.stringify(service.spec.selector ?? {}).length}`;
    if (found?.metadata.annotations?.[mirrorAnnotation] === own) return found;
    const node = await client.get(nodeKind, { name: nodeName }, { signal });
    const wanted = mirrorPod(name, process, { service, node, hash: own });
    if (wanted === undefined) return undefined;
    if (found !== undefined) await client.delete(podKind, { namespace, name }, { gracePeriodSeconds: 0, signal });
    return client.create(podKind, wanted, { signal });
  }

  /** Deletes the Pods of files that are gone. */
  async #deleteOthers(signal: AbortSignal): Promise<void> {
    const { client, nodeName, pods } = this.#options;
    const wanted = new Set(
      Array.from(
        this.#known,
        ([file, { process }]) => `${process.namespace}/${file.replace(/\.ya?ml$/, '')}-${nodeName}`,
      ),
    );
    for (const { metadata } of pods.list()) {
      const { namespace, name = '', annotations, uid = '' } = metadata;
      if (annotations?.[mirrorAnnotation] === undefined || wanted.has(`${namespace}/${name}`)) continue;
      await client.delete(podKind, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid }, signal });
    }
  }

  #report(file: string, problem: string | undefined): void {
    if (this.#problems.get(file) === problem) return;
    if (problem === undefined) this.#problems.delete(file);
    else {
      this.#problems.set(file, problem);
      this.#options.log.warn({ file, reason: problem }, 'a registration is not in use');
    }
  }
}

async function isHealthy({ address, port, check: wanted }: RegisteredProcess): Promise<boolean> {
  if (wanted.kind === 'none') return true;
  if (wanted.kind === 'systemd') {
    return run('systemctl', ['is-active', '--quiet', wanted.unit], { timeout: checkTimeoutMs }).then(
      () => true,
      () => false,
    );
  }
  const target = {
    podIp: address,
    ports: [],
    exec: () => Promise.reject(new Error('bug: no commands are registered')),
  };
  const action = wanted.kind === 'tcp' ? { tcpSocket: { port } } : { httpGet: { port, path: wanted.path } };
  return (await check(action, target, checkTimeoutMs)).outcome === 'success';
}
