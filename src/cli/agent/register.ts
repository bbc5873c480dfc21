import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkOf, parseRegistration } from '../../agent/registrations/registration-file.ts';
import { endpointAddressErrors } from '../../api/address-errors.ts';
import { isLoopback } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import { replaceFile } from '../../machine/replace-file.ts';
import { UsageError } from '../errors.ts';
import type { Flag } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { expected, nonEmpty, parseAddress, parsePort } from '../options/values.ts';
import type { PartAction } from '../part/part.ts';
import { loopbackEndpoints, maxClusters } from '../up/ranges.ts';
import { defaultDataDir, stateOf } from '../up/stored-clusters.ts';

/** `fairlead agent register`: writes a file into the agent's directory of registrations. */
export const register = (rootDir: Flag, defaultDirectory: () => string): PartAction => ({
  summary: 'put a process that runs already behind a Service, checked by the agent of this machine',
  isOffline: true,
  notes:
    'It writes a file to the directory "registrations" of the agent, which keeps a Pod for it in the API: an endpoint of the Service, ready while the check succeeds. Remove the file to remove the endpoint. The Service must exist and have a selector.',
  examples: [
    'fairlead agent register --service db --address 10.0.0.7 --port 5432 --check tcp',
    'fairlead agent register --service web --address 10.0.0.7 --port 80 --check systemd:nginx.service',
  ],
  flags: [
    { name: 'service', value: 'NAME', description: 'the Service' },
    { name: 'namespace', short: 'n', value: 'NAME', description: 'its namespace', default: 'default' },
    { name: 'address', value: 'IP', description: 'the address of the process' },
    { name: 'port', value: 'PORT', description: 'the port of the process' },
    {
      name: 'check',
      value: 'CHECK',
      description: 'tcp, http:/PATH, systemd:UNIT (the unit is active) or none',
      default: 'tcp',
    },
    rootDir,
  ],
  async run({ settings, streams }) {
    const service = readFlag(settings, 'service', nonEmpty('a name'), '');
    const address = readFlag<string>(settings, 'address', parseAddress, '');
    const port = readFlag(settings, 'port', parsePort, 0);
    if (service === '' || address === '' || port === 0)
      throw new UsageError('--service, --address and --port are required');
    const check = readFlag(settings, 'check', parseCheck, 'tcp');
    const namespace = textOf(settings, 'namespace') ?? 'default';
    const text = JSON.stringify({ namespace, service, address, port, check }, undefined, 2);
    try {
      parseRegistration(text);
    } catch (error) {
      throw new UsageError(messageOf(error), { cause: error });
    }
    if (isLoopback(address) && !isEndpointOfUp(address)) {
      throw new UsageError(
        `--address ${address}: other machines cannot reach a loopback address: use one of this machine, or with \`fairlead up\` one in 127.192.0.0/16`,
      );
    }
    const given = readFlag<string | undefined>(settings, 'root-dir', nonEmpty('a path'), undefined);
    const directory = resolve(given ?? (await agentDirectory(defaultDirectory())), 'registrations');
    await mkdir(directory, { recursive: true, mode: 0o755 });
    const file = join(directory, `${service}-${address.replaceAll(/[.:]/g, '-')}-${port}.yaml`);
    await replaceFile(file, `${text}\n`, 0o644);
    streams.out(
      `wrote ${file}: its process becomes an endpoint of Service "${namespace}/${service}" if that has a selector\n`,
    );
    return 0;
  },
});

/** The directory of the agent of a `fairlead up` that runs in this directory, otherwise the default one. */
async function agentDirectory(ofMachine: string): Promise<string> {
  const { clusters } = (await stateOf(defaultDataDir)) ?? { clusters: [] };
  const ofUp = clusters
    .filter(({ parts }) => parts.some(({ name }) => name === 'agent'))
    .map(({ name }) => join(defaultDataDir, 'agent', name));
  if (ofUp.length > 1) throw new UsageError(`several agents run here: pass --root-dir ${ofUp.join(' or ')}`);
  const directory = ofUp[0] ?? ofMachine;
  if (existsSync(directory)) return directory;
  throw new UsageError(`no agent has run with the directory ${directory}: start it first, or pass its --root-dir`);
}

const isEndpointOfUp = (text: string): boolean =>
  endpointAddressErrors(text, loopbackEndpoints(maxClusters)).length === 0;

function parseCheck(text: string): string {
  try {
    checkOf(text);
    return text;
  } catch {
    return expected('tcp, http:/PATH, systemd:UNIT or none');
  }
}
