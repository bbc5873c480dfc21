// The CustomResourceDefinitions that a cluster lacks.
import { definitionsOf } from '../../api/definition.ts';
import type { Kind } from '../../api/kind.ts';
import { kinds } from '../../api/kinds/registry.ts';
import type { Client } from '../../client/client.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { FatalError } from '../errors.ts';
import { kindOf } from './kinds.ts';
import type { Manifest } from './manifest.ts';
import { installed, isInstalled } from './manifest.ts';
import type { InstalledPart } from './values.ts';

/** The groups of the kinds that the multi-cluster controller reads and writes in members. */
export const memberGroups: readonly string[] = ['multicluster.x-k8s.io', 'multicluster.k8s.io', 'about.k8s.io'];

/** The groups of the kinds that a part needs. */
export const groupsOf = (part: InstalledPart): readonly string[] => {
  switch (part) {
    case 'multicluster':
      return [...memberGroups, 'multicluster.fairlead.dev'];
    case 'reaper':
      return memberGroups;
    case 'loadbalancer':
      return ['loadbalancer.fairlead.dev'];
    case 'dns':
    case 'proxy':
    case 'controllers':
    case 'gateway':
      return []; // they work without
  }
};

/** The definitions of the kinds of some groups. */
export const definitionsFor = (groups: Iterable<string>): readonly Manifest[] => {
  const wanted = new Set(groups);
  return definitionsOf(kinds.filter(({ group }) => wanted.has(group))).map((definition) =>
    // A cast: every definition has these fields.
    installed(definition as Manifest, 'definitions'),
  );
};

/**
 * The definitions of the groups that must be applied: of kinds that the cluster does not serve, and those that an earlier
 * version installed. Throws if a definition of others has none of the versions that this program reads.
 */
export async function missingDefinitions(client: Client, groups: Iterable<string>): Promise<readonly Manifest[]> {
  const missing: Manifest[] = [];
  for (const definition of definitionsFor(groups)) {
    const existing = await findDefinition(client, definition);
    if (existing !== undefined && isInstalled(existing)) missing.push(definition);
    else if (!(await isServed(client, definition))) {
      if (existing !== undefined) throw otherVersion(definition, existing);
      missing.push(definition);
    }
  }
  return missing;
}

interface Definition extends Manifest {
  readonly spec?: { readonly versions?: readonly { readonly name: string; readonly served?: boolean }[] };
}

/** undefined: there is none, or the server defines kinds otherwise, as Fairlead's does. */
async function findDefinition(
  client: Client,
  { apiVersion, kind, metadata }: Manifest,
): Promise<Definition | undefined> {
  // A cast where an object of a kind without a schema is read.
  return (await client.find(kindOf({ apiVersion, kind }), { name: metadata.name })) as Definition | undefined;
}

/** Whether the cluster serves a version of the kind that this program reads. */
async function isServed(client: Client, { metadata: { name } }: Manifest): Promise<boolean> {
  for (const kind of versionsOf(name)) {
    try {
      // A cast where bytes become an object.
      const list = (await client.read(`/apis/${kind.group}/${kind.version}`)) as {
        readonly resources?: readonly { readonly name: string }[];
      };
      if (list.resources?.some((resource) => resource.name === kind.plural) === true) return true;
    } catch (error) {
      if (!hasStatusCode(error, 404)) throw error;
    }
  }
  return false;
}

/** The kinds of a definition that this program reads, one for each version. */
export const versionsOf = (definition: string): readonly Kind[] =>
  kinds.filter(({ plural, group }) => `${plural}.${group}` === definition);

function otherVersion({ metadata: { name } }: Manifest, existing: Definition): FatalError {
  const has = (existing.spec?.versions ?? []).filter(({ served }) => served === true).map((each) => each.name);
  const needs = versionsOf(name).map(({ version }) => version);
  return new FatalError(
    `CustomResourceDefinition ${name} of the cluster serves ${has.join(', ') || 'no version'}, and this program reads ${needs.join(' and ')}: ` +
      'install a definition with one of them; nothing was changed',
  );
}
