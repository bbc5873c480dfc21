// The network namespaces of Pods, and how their containers are started in them.
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { familyOf } from '../../api/addresses.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { runProgram } from '../processes/run-program.ts';
import { ConfigError } from '../environment/variables.ts';
import type { ProcessCalls } from '../processes/native.ts';
import type { ProcessId } from '../processes/identity.ts';
import { identityOf } from '../processes/identity.ts';
import { watchEnding } from '../processes/ending.ts';
import type { Credentials } from '../processes/launch.ts';
import { launchArgv } from '../processes/launch.ts';
import { startAnchor } from './anchor.ts';
import type { Link } from './link.ts';
import { gatewayOf, linkOf, machineCommands, podCommands } from './link.ts';
import { layeredPath } from './layered-path.ts';
import type { ContainerMount } from './mounts.ts';
import { mountsOf } from './mounts.ts';
import { hostnameOf, hostsFile, resolverFile } from './name-files.ts';

export interface SandboxOptions {
  readonly calls: ProcessCalls;
  /** The range of the Pods of this machine. */
  readonly cidr: string;
  readonly clusterDns: () => readonly string[];
  readonly clusterDomain: string;
  readonly directoryOf: (uid: string) => string;
  readonly diesWithAgent: boolean;
  /** Called when the namespaces of a Pod are lost. */
  readonly lost: (uid: string) => void;
}

/** A process and its identity, which distinguishes it from a later one with its ID. */
interface Anchor {
  readonly process: ProcessId;
  stop(): void;
}

/** What starts a container. */
export interface ContainerStart {
  /** The program or directory that its image stands for; undefined: the machine itself. */
  readonly image: { readonly path?: string; readonly isDirectory: boolean };
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
  /** Volume → its directory. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly messageFile: string;
}

/** After the end of a namespace, the kernel removes its links a moment later. */
const linkTries = 20;
const linkRetryMs = 100;

export class Sandboxes {
  readonly #options: SandboxOptions;
  readonly #gateway: string;
  /** UID → what keeps its namespaces. */
  readonly #anchors = new Map<string, Anchor>();

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#gateway = gatewayOf(options.cidr);
  }

  /** Lets the machine forward packets of Pods. */
  async start(): Promise<void> {
    const isIpv4 = familyOf(this.#gateway) === 'IPv4';
    await writeFile(isIpv4 ? '/proc/sys/net/ipv4/ip_forward' : '/proc/sys/net/ipv6/conf/all/forwarding', '1');
  }

  /** A process in the namespaces of a Pod; undefined: it has none. */
  namespacesOf(uid: string): number | undefined {
    return this.#anchors.get(uid)?.process.pid;
  }

  /** Continues with the namespaces that an earlier agent created; false: they are lost. */
  adopt(uid: string, known: ProcessId): boolean {
    if (identityOf(known.pid) !== known.identity) return false;
    this.#watch(uid, known);
    return true;
  }

  /** Creates the namespaces of a Pod and connects them with the machine. Rejects with what the system reports. */
  async open(pod: Pod, ip: string): Promise<ProcessId> {
    const { uid = '' } = pod.metadata;
    const { diesWithAgent } = this.#options;
    const anchor = await startAnchor({ uid, hostname: hostnameOf(pod), diesWithAgent });
    try {
      await this.#connect({ uid, ip, gateway: this.#gateway, pid: anchor.pid });
    } catch (error) {
      kill(anchor);
      throw error;
    }
    this.#watch(uid, anchor);
    return anchor;
  }

  async #connect(link: Link): Promise<void> {
    const ip = ['ip', '-batch', '-'] as const;
    for (let tries = 1; ; tries++) {
      try {
        await runProgram(ip, machineCommands(link));
        break;
      } catch (error) {
        if (tries === linkTries) throw error;
        await runProgram(['ip', 'link', 'delete', linkOf(link.uid)]).catch(() => undefined); // there is none
        await delay(linkRetryMs);
      }
    }
    await runProgram(['nsenter', `--target=${link.pid}`, '--net', '--', ...ip], podCommands(link));
  }

  /** Ends the namespaces of a Pod, without a call of `lost`. */
  close(uid: string): void {
    const anchor = this.#anchors.get(uid);
    this.#anchors.delete(uid);
    anchor?.stop();
    if (anchor !== undefined) kill(anchor.process);
  }

  /** Stops watching the namespaces, which stay. */
  release(): void {
    for (const anchor of this.#anchors.values()) anchor.stop();
    this.#anchors.clear();
  }

  #watch(uid: string, id: ProcessId): void {
    const ending = watchEnding(this.#options.calls, id);
    this.#anchors.set(uid, { process: id, stop: ending.stop });
    void ending.ended.then(() => {
      if (this.#anchors.get(uid)?.process !== id) return;
      this.#anchors.delete(uid);
      this.#options.lost(uid);
    });
  }

  /** Writes the files by which the processes of a Pod resolve names. */
  async writeNames(pod: Pod, podIps: readonly string[]): Promise<void> {
    const { clusterDns, clusterDomain } = this.#options;
    const files = this.#nameFiles(pod);
    const names = {
      podIps,
      clusterDns: clusterDns(),
      clusterDomain,
      machineResolver: await readFile('/etc/resolv.conf', 'utf8').catch(() => ''),
      machineHosts: await readFile('/etc/hosts', 'utf8').catch(() => ''),
    };
    await mkdir(files.directory, { recursive: true, mode: 0o755 });
    await writeFile(files.resolver, resolverFile(pod, names), { mode: 0o644 });
    await writeFile(files.hosts, hostsFile(pod, names), { mode: 0o644 });
  }

  #nameFiles({ metadata: { uid = '' } }: Pod): { directory: string; resolver: string; hosts: string } {
    const directory = join(this.#options.directoryOf(uid), 'etc');
    return { directory, resolver: join(directory, 'resolv.conf'), hosts: join(directory, 'hosts') };
  }

  /** The command line that starts a container, with a new root directory. Throws a ConfigError. */
  async launcher(pod: Pod, container: Container, start: ContainerStart): Promise<readonly [string, ...string[]]> {
    const { uid = '' } = pod.metadata;
    const { image, argv, env, credentials, volumes, messageFile } = start;
    const directory = join(this.#options.directoryOf(uid), 'roots', container.name);
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o711 });
    const { resolver, hosts } = this.#nameFiles(pod);
    const mounts = mountsOf(container, {
      volumes,
      readOnlyVolumes: new Set(
        (pod.spec.volumes ?? []).flatMap(({ name, ...source }) => (isReadOnly(source) ? [name] : [])),
      ),
      resolverFile: resolver,
      hostsFile: hosts,
      messageFile,
      variables: env,
    });
    for (const mount of mounts) await checkSource(mount);
    const program =
      image.path === undefined || image.isDirectory
        ? []
        : [{ source: image.path, target: `/${basename(image.path)}`, isReadOnly: true }];
    const layers = image.isDirectory && image.path !== undefined ? ([image.path, '/'] as const) : (['/'] as const);
    const targets = await Promise.all(
      [...program, ...mounts].map(async (mount) => ({ ...mount, target: await layeredPath(layers, mount.target) })),
    );
    return launchArgv({
      argv,
      env,
      credentials,
      cwd: await layeredPath(layers, container.workingDir ?? '/'),
      directory,
      layers,
      mounts: targets,
      namespaces: pod.spec.hostNetwork === true ? undefined : this.namespacesOf(uid),
      allowsPrivileges: container.securityContext?.allowPrivilegeEscalation !== false,
    });
  }
}

/** Whether containers only read the volumes of this kind. */
const isReadOnly = ({ configMap, secret, downwardAPI, projected }: Omit<Volume, 'name'>): boolean =>
  [configMap, secret, downwardAPI, projected].some((source) => source !== undefined);

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Creates the directory of a subPath, which must be in its volume. */
async function checkSource({ source, target, within, isReadOnly: isConstant }: ContainerMount): Promise<void> {
  if (within === undefined) return;
  if (!isConstant) await mkdir(source, { recursive: true, mode: 0o755 }).catch(() => undefined); // it is a file
  const [found, volume] = await Promise.all([realpath(source).catch(() => undefined), realpath(within)]);
  if (found === undefined)
    throw new ConfigError(`failed to prepare subPath for volumeMount at ${target}: it does not exist`);
  if (found !== volume && !found.startsWith(`${volume}/`))
    throw new ConfigError(`failed to prepare subPath for volumeMount at ${target}: it leaves the volume`);
}

function kill({ pid, identity }: ProcessId): void {
  if (identityOf(pid) === identity) process.kill(pid, 'SIGKILL');
}
