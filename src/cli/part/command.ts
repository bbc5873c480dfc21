import { isIP } from 'node:net';
import type { Command } from 'commander';
import type { CommandModule } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addFlags, oneOf, readFlag, readSettings } from '../options/flags.ts';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import { retrying } from '../../client/retry.ts';
import { logLevels } from '../process/log.ts';
import { parsePort } from '../options/ports.ts';
import { columns } from '../output.ts';
import { version } from '../program.ts';
import type { Flag, Settings } from '../settings.ts';
import { runAlone } from './run-part.ts';
import { clusterFlags, readClusterAccess } from './cluster-access.ts';
import type { ActionCall, HealthPlace, Part, PartAction } from './part.ts';

/** The command that runs a part alone, against any Kubernetes. */
export function partCommand(part: Part): CommandModule {
  const flags: readonly Flag[] = [...clusterFlags, ...part.flags, ...processFlags(part)];
  return {
    define(command: Command): void {
      addFlags(command, flags);
      command.description(part.description).addHelpText('before', `Example:\n${part.example}\n`);
      if (part.actions === undefined) return;
      command.usage('[ACTION] [flags]').argument('[action]', Object.keys(part.actions).join(' or '));
      command.argument('[arguments...]').addHelpText('after', actionHelp(part.name, part.actions));
    },
    async execute(command, streams) {
      const settings = await readSettings(command, flags);
      const [action, ...args] = command.args;
      if (action !== undefined) return act(part, action, { args, settings, streams });
      return runAlone({
        part,
        settings,
        read: (text) => readSettings(command, flags, { text }),
        configFile: command.opts<{ readonly config?: string }>().config,
        health: typeof part.health === 'number' ? [placeOf(settings, part.health)] : part.health(settings),
        logLevel: readFlag(settings, 'log-level', oneOf(logLevels), 'info'),
        streams,
      });
    },
  };
}

async function act(part: Part, name: string, call: Omit<ActionCall, 'connect'>): Promise<number> {
  const { actions = {} } = part;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    const known = Object.keys(actions).join(' or ');
    throw new UsageError(`unknown action "${name}" of ${part.name}: expected ${known}, or none to run it`);
  }
  const connect = async (): Promise<Client> => {
    const access = await readClusterAccess(call.settings, process.env);
    return new Client(retrying(overHttps(access, { userAgent: `fairlead-${part.name}/${version}` })));
  };
  return action.run({ ...call, connect });
}

const actionHelp = (part: string, actions: Readonly<Record<string, PartAction>>): string =>
  [
    '\nActions:',
    ...columns(
      Object.entries(actions).map(([name, { usage, summary }]) => [`  fairlead ${part} ${name} ${usage}`, summary]),
    ),
  ].join('\n');

const placeOf = (settings: Settings, port: number): HealthPlace => ({
  host: readFlag(settings, 'bind-address', parseAddress, '127.0.0.1'),
  port: readFlag(settings, 'health-port', parsePort, port),
  flag: 'health-port',
});

const processFlags = ({ health }: Part): readonly Flag[] => [
  ...(typeof health === 'number' ? healthFlags(health) : []),
  { name: 'log-level', value: 'LEVEL', description: 'trace, debug, info, warn, error or silent', default: 'info' },
];

const healthFlags = (port: number): readonly Flag[] => [
  {
    name: 'bind-address',
    value: 'IP',
    description: 'where /healthz, /livez, /readyz and /metrics are, over plain HTTP; 0.0.0.0 for all',
    default: '127.0.0.1',
  },
  { name: 'health-port', value: 'PORT', description: 'and on which port; 0: any free', default: String(port) },
];

function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new UsageError('expected an IP address, such as 0.0.0.0');
  return text;
}
