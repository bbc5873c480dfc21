import { isIP } from 'node:net';
import type { Command } from 'commander';
import type { CommandModule } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addFlags, oneOf, readFlag, readSettings } from '../flags.ts';
import { logLevels } from '../log.ts';
import { parsePort } from '../options/ports.ts';
import type { Flag, Settings } from '../settings.ts';
import { runAlone } from './alone.ts';
import { clusterFlags } from './cluster-access.ts';
import type { HealthPlace, Part } from './part.ts';

/** The command that runs a part alone, against any Kubernetes. */
export function partCommand(part: Part): CommandModule {
  const flags: readonly Flag[] = [...clusterFlags, ...part.flags, ...processFlags(part)];
  return {
    define(command: Command): void {
      addFlags(command, flags);
      command.description(part.description).addHelpText('before', `Example:\n${part.example}\n`);
    },
    async execute(command, streams) {
      const settings = await readSettings(command, flags);
      return runAlone({
        part,
        settings,
        load: part.alone(settings),
        health: typeof part.health === 'number' ? [placeOf(settings, part.health)] : part.health(settings),
        logLevel: readFlag(settings, 'log-level', oneOf(logLevels), 'info'),
        streams,
      });
    },
  };
}

const placeOf = (settings: Settings, port: number): HealthPlace => ({
  host: readFlag(settings, 'bind-address', parseAddress, '127.0.0.1'),
  port: readFlag(settings, 'health-port', parsePort, port),
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
