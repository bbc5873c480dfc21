import { Client } from '../../client/client.ts';
import { connectionReason, credentialsRejected } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import { retrying } from '../../client/retry.ts';
import type { Transport } from '../../client/transport.ts';
import type { Call, Command } from '../command.ts';
import { FatalError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag } from '../options/flags.ts';
import { parseAddress, parsePort } from '../options/values.ts';
import { logFlags, readLogOptions } from '../process/log.ts';
import { version } from '../program.ts';
import { clusterFlags, findCluster, readClusterAccess, runningAt } from './cluster-access.ts';
import type { HealthAddress, Part, PartAction } from './part.ts';
import { runPart } from './run-part.ts';
import { severalClusterFlags } from './several-clusters.ts';

/** The command that runs a part alone, against any Kubernetes, and its actions. */
export function partCommand(part: Part): Command {
  const { name, description, examples, actions = {} } = part;
  const flags: readonly Flag[] = [
    ...part.flags,
    ...(part.isForSeveral === true ? severalClusterFlags : clusterFlags),
    ...(typeof part.health === 'number' ? healthFlags(part.health) : []),
    ...logFlags('info'),
  ];
  return {
    description,
    examples,
    flags,
    config: { flags },
    actions: Object.fromEntries(
      Object.entries(actions).map(([action, each]) => [action, withCluster(name, each, flags)]),
    ),
    run: ({ settings, streams, configFile, reread }) =>
      runPart({
        part,
        settings,
        reread,
        configFile,
        health: typeof part.health === 'number' ? [healthAddress(settings, part.health)] : part.health(settings),
        log: readLogOptions(settings, 'info'),
        streams,
      }),
  };
}

/** An action with the flags that select a cluster, which can come from the part's configuration file too. */
function withCluster(
  part: string,
  action: PartAction,
  keys: readonly Flag[],
): Omit<PartAction, 'run'> & Pick<Command, 'config'> & { run: NonNullable<Command['run']> } {
  if (action.isOffline)
    return {
      ...action,
      run: (call) => action.run({ ...call, connect: isOffline, settingsInCluster: isOffline }),
    };
  return {
    ...action,
    flags: [...action.flags, ...clusterFlags],
    config: { flags: [...keys, ...action.flags] },
    run(call) {
      let reading: ReturnType<typeof selectCluster> | undefined;
      const cluster = (): ReturnType<typeof selectCluster> => (reading ??= selectCluster(call));
      return action.run({
        ...call,
        async connect() {
          const { access } = await cluster();
          const transport = retrying(overHttps(access, { userAgent: `fairlead-${part}/${version}` }));
          await checkReachable(transport, access.server);
          return new Client(transport);
        },
        async settingsInCluster() {
          const { found, access } = await cluster();
          const running = await runningAt(found, access.server);
          const { flags = {} } = running?.cluster.parts.find(({ name }) => name === part) ?? {};
          return { settings: new Map([...Object.entries(flags), ...call.settings]), pid: running?.pid };
        },
      });
    },
  };
}

/** An action reads once: a server that does not answer is an error at once, not when informers give up. */
async function checkReachable(transport: Transport, server: string): Promise<void> {
  const problem = await transport
    .request({ method: 'GET', path: '/version' })
    .then(({ status }) => (status === 401 ? credentialsRejected : undefined), connectionReason);
  if (problem === undefined) return;
  transport[Symbol.dispose]();
  throw new FatalError(`requests to the API server ${server} fail: ${problem}`);
}

const isOffline = (): Promise<never> => Promise.reject(new Error('bug: the action is offline'));

/** Finds the cluster of a call, and prints where. */
async function selectCluster({ settings, streams }: Call) {
  const found = await findCluster(settings, process.env);
  const access = await readClusterAccess(found, process.env);
  streams.err(`using context ${access.context} of ${found.source}\n`);
  return { found, access };
}

const healthAddress = (settings: Settings, port: number): HealthAddress => ({
  host: readFlag(settings, 'bind-address', parseAddress, '127.0.0.1'),
  port: readFlag(settings, 'health-port', parsePort, port),
  flag: 'health-port',
});

const healthFlags = (port: number): readonly Flag[] =>
  grouped('Health and metrics', [
    {
      name: 'bind-address',
      value: 'IP',
      description: 'address of /healthz, /livez, /readyz and /metrics, over plain HTTP; 0.0.0.0 for all',
      default: '127.0.0.1',
    },
    { name: 'health-port', value: 'PORT', description: 'port of these paths; 0 for any free', default: String(port) },
  ]);
