import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLoopback } from '../../api/addresses.ts';
import { codeOf } from '../../api/error-message.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { dnsLabelErrors } from '../../api/names.ts';
import { startAgent } from '../../agent/agent.ts';
import { readLog } from '../../agent/api/log-reader.ts';
import type { LocalContainer } from '../../agent/pods/runtime.ts';
import { Client } from '../../client/client.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { overHttps } from '../../client/https.ts';
import { retrying } from '../../client/retry.ts';
import { Registry } from 'prom-client';
import { firstAddress, processEnvironment } from '../agent/machine.ts';
import type { Command } from '../command.ts';
import { FatalError, UsageError } from '../errors.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { expected, nonEmpty, parseAddress, parsePort } from '../options/values.ts';
import { clusterFlags, findCluster, readClusterAccess, runningAt } from '../part/cluster-access.ts';
import { readLogOptions } from '../process/log.ts';
import { longRunning } from '../process/long-running.ts';
import { listenForStop } from '../process/signals.ts';
import { version } from '../program.ts';

const graceSeconds = 10;
const label = 'app.kubernetes.io/name';

/** `fairlead run`: a process as a ready endpoint of a Service, while it runs. */
export const command: Command = {
  usage: '[COMMAND...]',
  description:
    'Run a command and put it behind a Service: the machine is a Node and the process is a Pod until the command ends or Ctrl-C, which removes both. The Service is created if it does not exist, and stays.',
  notes: 'The command has the address at which it must listen in $POD_IP. Write -- before it.',
  examples: [
    'fairlead run --service web --port 8080 -- python3 -m http.server 8080',
    'fairlead run --service api --port 3000 --check /healthz -- node server.js',
  ],
  flags: [
    { name: 'service', value: 'NAME', description: 'the Service' },
    { name: 'namespace', short: 'n', value: 'NAME', description: 'its namespace', default: 'default' },
    { name: 'port', value: 'PORT', description: 'the port that the command listens on' },
    {
      name: 'service-port',
      value: 'PORT',
      description: 'the port of a new Service',
      default: 'that of --port, or a free one if the command listens at all addresses of a machine with `fairlead up`',
    },
    {
      name: 'check',
      value: 'PATH',
      description: 'an HTTP path that is healthy if it answers with 200 to 399; without it, a TCP connection suffices',
    },
    {
      name: 'address',
      value: 'IP',
      description: 'the address that the command listens on',
      default: 'a loopback address for a cluster of this machine, otherwise that of the machine',
    },
    ...clusterFlags,
  ],
  async run({ args, settings, streams }) {
    const service = readFlag<string | undefined>(settings, 'service', parseName, undefined);
    const port = readFlag<number | undefined>(settings, 'port', parsePort, undefined);
    if (service === undefined || port === undefined) throw new UsageError('--service and --port are required');
    if (args.length === 0) throw new UsageError('no command is given: write it after --');
    const namespace = readFlag(settings, 'namespace', nonEmpty('a name'), 'default');
    using stop = listenForStop(process, (code) => process.exit(code));
    using running = await longRunning(readLogOptions(new Map(), 'error'));
    const found = await findCluster(settings, process.env);
    const access = await readClusterAccess(found, process.env);
    streams.err(`using context ${access.context} of ${found.source}\n`);
    using client = new Client(retrying(overHttps(access, { userAgent: `fairlead-run/${version}` })));
    const isLocal = (await runningAt(found, access.server)) !== undefined;
    const servicePort = readFlag<number | undefined>(settings, 'service-port', parsePort, undefined);
    const ip = readFlag(settings, 'address', parseAddress, isLocal ? ownLoopbackAddress(process.pid) : firstAddress());
    if (!isLocal && isLoopback(ip)) {
      throw new UsageError(
        `${ip} is a loopback address, which the cluster cannot reach: pass --address with one of this machine (for \`fairlead up\`, wait until it is ready)`,
      );
    }
    const nodeName = `run-${hostname().toLowerCase()}-${process.pid}`;
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-run-'));
    const agent = startAgent(
      { client, log: running.log, metrics: new Registry() },
      {
        nodeName,
        addresses: [ip],
        labels: {},
        directory,
        listen: { address: ip, port: 0 },
        tls: undefined,
        clientCa: access.ca,
        network: { mode: 'host' },
        images: new Map(),
        allowsHostPaths: false,
        maxPods: 1,
        stopsPods: true,
        version,
        environment: processEnvironment(process.env),
      },
    );
    try {
      await agent.ready;
      const existing = await client.find(serviceKind, { namespace, name: service });
      const selector = existing === undefined ? { [label]: service } : selectorOf(existing);
      const name = `${service}-${process.pid}`;
      const path = textOf(settings, 'check');
      await client.create(podKind, podFor({ namespace, name, nodeName, selector, args, port, path }));
      try {
        const followed = { client, namespace, name, service, ip, port, agent, streams, stop: stop.requested };
        return await follow({
          ...followed,
          async whenReady() {
            if (existing !== undefined) return existing;
            const chosen = servicePort ?? (isLocal ? await proxiedPort(port) : port);
            return client.create(serviceKind, serviceFor({ namespace, service, selector, port, servicePort: chosen }));
          },
        });
      } finally {
        await client.delete(podKind, { namespace, name }, { gracePeriodSeconds: graceSeconds });
        await gone(client, namespace, name);
      }
    } finally {
      await agent[Symbol.asyncDispose]();
      await client.delete(nodeKind, { name: nodeName }).catch(() => undefined); // the server is gone
      await rm(directory, { recursive: true, force: true });
    }
  },
};

/** One of the last addresses of the Pod range of the first cluster, beside those of its agent. */
const ownLoopbackAddress = (pid: number): string => `127.192.${192 + (Math.floor(pid / 254) % 63)}.${1 + (pid % 254)}`;

function parseName(text: string): string {
  const [error] = dnsLabelErrors(text);
  return error === undefined ? text : expected(`the name of a Service: ${error}`);
}

function selectorOf({ metadata, spec: { selector = {} } }: Service): Readonly<Record<string, string>> {
  if (Object.keys(selector).length > 0) return selector;
  throw new FatalError(
    `Service "${metadata.namespace}/${metadata.name}" has no selector: its endpoints are written by somebody else`,
  );
}

interface ServiceInput {
  readonly namespace: string;
  readonly service: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly port: number;
  readonly servicePort: number;
}

function serviceFor({ namespace, service, selector, port, servicePort }: ServiceInput): Service {
  const ports = [{ port: servicePort, targetPort: port }];
  // A cast: the server adds the defaults.
  return { metadata: { namespace, name: service }, spec: { selector, ports } } as unknown as Service;
}

/** A port at which the proxy of `up` can listen beside the command, which may listen at all addresses. */
async function proxiedPort(port: number): Promise<number> {
  for (let next = port; next < Math.min(port + 100, 65_536); next++) {
    if (!(await isInUse(next, unusedClusterIp))) return next;
  }
  return port;
}

/** The last address of the range of cluster IPs of the first cluster of `up`. */
const unusedClusterIp = '127.64.255.254';

async function isInUse(port: number, host: string): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen({ port, host, exclusive: true }), 'listening');
    return false;
  } catch (error) {
    return codeOf(error) === 'EADDRINUSE'; // ports below 1024 may need privileges
  } finally {
    server.close();
  }
}

interface PodInput {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly port: number;
  readonly path: string | undefined;
}

function podFor({ namespace, name, nodeName, selector, args, port, path }: PodInput): Pod {
  const probe = path === undefined ? { tcpSocket: { port } } : { httpGet: { port, path } };
  const container = {
    name: 'run',
    image: 'process',
    command: args.map((word) => word.replaceAll('$', '$$$$')), // no expansion: a shell did it
    workingDir: process.cwd(),
    ports: [{ containerPort: port }],
    readinessProbe: { ...probe, periodSeconds: 1 },
  };
  const spec = {
    nodeName,
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: graceSeconds,
    automountServiceAccountToken: false,
    tolerations: [{ operator: 'Exists' }],
    containers: [container],
  };
  // A cast: the server adds the defaults.
  return { metadata: { namespace, name, labels: selector }, spec, status: {} } as unknown as Pod;
}

interface Followed {
  readonly client: Client;
  readonly namespace: string;
  /** The name of the Pod. */
  readonly name: string;
  readonly service: string;
  readonly ip: string;
  readonly port: number;
  /** Returns the Service, which is created when the Pod is ready for the first time. */
  readonly whenReady: () => Promise<Service>;
  readonly agent: ReturnType<typeof startAgent>;
  readonly streams: { readonly out: (text: string) => void; readonly err: (text: string) => void };
  readonly stop: AbortSignal;
}

/** Prints the output of the process until it ends, or Ctrl-C. Returns its exit code, 0 after Ctrl-C. */
async function follow(followed: Followed): Promise<number> {
  const { client, namespace, name, service, ip, port, agent, streams, stop, whenReady } = followed;
  const find = (): LocalContainer | undefined => agent.runtime()?.find(namespace, name)?.containers[0];
  let printing: Promise<void> | undefined;
  let wasReady = false;
  for (; !stop.aborted; await sleep(systemClock, 100, stop)) {
    if (find()?.status?.containerID !== undefined) printing ??= print(find, streams.out, stop);
    const { status } = await client.get(podKind, { namespace, name });
    const isReady = status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
    if (isReady && !wasReady) {
      const ports = (await whenReady()).spec.ports?.map((each) => each.port).join(', ');
      streams.err(
        `ready: ${ip}:${port} is an endpoint of Service ${namespace}/${service}, port ${ports}; Ctrl-C removes it\n`,
      );
    }
    wasReady ||= isReady;
    const terminated = status.containerStatuses?.[0]?.state.terminated;
    if (terminated === undefined) continue;
    printing ??= print(find, streams.out, stop);
    await printing;
    if (terminated.reason === 'StartError') throw new FatalError(terminated.message ?? 'the command cannot be started');
    if (!wasReady && terminated.exitCode !== 0 && (await isInUse(port, '0.0.0.0'))) {
      streams.err(
        `port ${port} is in use at an address of this machine, perhaps by the proxy or the demo of \`fairlead up\`: let the command listen at $POD_IP only\n`,
      );
    }
    return terminated.exitCode;
  }
  return 0;
}

/** Prints the log of a container from its start until its end. */
async function print(
  find: () => LocalContainer | undefined,
  out: (text: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const source = {
    files: async () => (await find()?.logFiles('current')) ?? [],
    isLive: () => find()?.pid !== undefined,
  };
  const all = { previous: false, timestamps: false, tailLines: undefined, since: undefined, limitBytes: undefined };
  for await (const piece of readLog(source, { ...all, follow: true }, stop)) out(piece.toString());
}

async function gone(client: Client, namespace: string, name: string): Promise<void> {
  const end = performance.now() + (graceSeconds + 5) * 1000;
  const never = new AbortController().signal;
  while (performance.now() < end && (await client.find(podKind, { namespace, name })) !== undefined)
    await sleep(systemClock, 50, never);
}
