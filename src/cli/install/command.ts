import { readFile } from 'node:fs/promises';
import { dump, load } from 'js-yaml';
import { fileErrorOf, messageOf } from '../../api/error-message.ts';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import type { Call, Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { outputFlag, readFlag, textOf } from '../options/flags.ts';
import { listOf, oneOf, parseNamespace } from '../options/values.ts';
import { clusterFlags, partCluster, readClusterAccess } from '../part/cluster-access.ts';
import { version } from '../program.ts';
import { applyAll } from './apply.ts';
import { missingDefinitions } from './definitions.ts';
import { defaultNamespace } from './manifest.ts';
import type { Installation } from './plan.ts';
import { allManifests, enabledParts, neededGroups, partManifests } from './plan.ts';
import type { InstalledPart, Values } from './values.ts';
import { installedParts, mergeValues } from './values.ts';

/** `fairlead install`: what the Helm chart does, without Helm. */
export const command: Command = {
  description:
    'Install components in a cluster. Applies the objects of the Helm chart deploy/helm/fairlead by server-side apply. With -o, prints them ' +
    'and makes no request.',
  examples: [
    'fairlead install --context prod-eu --parts dns,multicluster --image example.org/fairlead:1',
    'fairlead install --values values.yaml -o yaml > fairlead.yaml',
  ],
  flags: [
    {
      name: 'parts',
      value: 'PART,...',
      description: `components to install: ${installedParts.join(', ')}`,
      default: 'those that the values enable',
    },
    { name: 'values', value: 'FILE', description: 'values of the Helm chart', default: 'those of the chart' },
    { name: 'image', value: 'NAME:TAG', description: 'image of the components', default: 'that of the values' },
    { name: 'namespace', value: 'NAMESPACE', description: 'namespace of the components', default: defaultNamespace },
    outputFlag,
    ...clusterFlags,
  ],
  run: (call) => install(call),
};

async function install({ settings, streams }: Call): Promise<number> {
  const installation: Installation = {
    values: await readValues(settings),
    namespace: readFlag(settings, 'namespace', parseNamespace, defaultNamespace),
    version,
  };
  const parts = enabledParts(installation.values);
  if (parts.length === 0) throw new UsageError(`no component to install: pass --parts ${installedParts[0]},...`);
  const format = textOf(settings, 'output');
  if (format !== undefined) {
    const items = allManifests(installation);
    streams.out(
      format === 'json'
        ? `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, undefined, 2)}\n`
        : items.map((item) => dump(item, { lineWidth: -1, noRefs: true })).join('---\n'),
    );
    return 0;
  }
  const access = await readClusterAccess(partCluster(settings, process.env), process.env);
  using client = new Client(overHttps(access, { userAgent: `fairlead/${version}` }));
  const definitions = await missingDefinitions(client, neededGroups(installation.values));
  await applyAll(client, [...definitions, ...partManifests(installation)]);
  streams.out(`installed ${parts.join(', ')} in namespace ${installation.namespace} of ${access.context}\n`);
  return 0;
}

async function readValues(settings: Settings): Promise<Values> {
  const file = textOf(settings, 'values');
  const values = file === undefined ? mergeValues(undefined, '') : mergeValues(await readYaml(file), file);
  const parts = readFlag<readonly InstalledPart[] | undefined>(
    settings,
    'parts',
    listOf(oneOf(installedParts)),
    undefined,
  );
  const image = textOf(settings, 'image');
  return {
    ...values,
    ...(image === undefined ? {} : { image: { ...values['image'], ...imageOf(image) } }),
    ...(parts === undefined
      ? {}
      : Object.fromEntries(installedParts.map((part) => [part, { ...values[part], enabled: parts.includes(part) }]))),
  };
}

/** A colon before a slash belongs to the port of a registry. */
function imageOf(text: string): { readonly repository: string; readonly tag: string } {
  const colon = text.lastIndexOf(':');
  if (colon <= text.lastIndexOf('/') || colon === text.length - 1)
    throw new UsageError(`--image ${text}: expected NAME:TAG, such as registry.example.org/fairlead:0.1.0`);
  return { repository: text.slice(0, colon), tag: text.slice(colon + 1) };
}

async function readYaml(path: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --values ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
  try {
    return load(content);
  } catch (error) {
    throw new UsageError(`--values ${path} is not YAML: ${messageOf(error)}`, { cause: error });
  }
}
