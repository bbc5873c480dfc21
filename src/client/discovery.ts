import type { Client } from './client.ts';

/** A kind in one version that a server serves. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Whether this is the preferred version of the server. */
  readonly isPreferred: boolean;
}

/** All kinds of a server in its order of preference. Servers before 1.27 are queried group by group. */
export async function discover(client: Client, signal?: AbortSignal): Promise<readonly ServedKind[]> {
  const groups = [...(await groupsAt(client, '/api', signal)), ...(await groupsAt(client, '/apis', signal))];
  return groups.flatMap(({ name, versions }) => {
    const seen = new Set<string>();
    return versions.flatMap(({ version, resources }) =>
      resources.map((resource) => {
        const isPreferred = !seen.has(resource.plural);
        seen.add(resource.plural);
        return { group: name, version, ...resource, isPreferred };
      }),
    );
  });
}

interface Group {
  readonly name: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly Resource[] }[];
}

type Resource = Pick<ServedKind, 'kind' | 'plural' | 'namespaced' | 'verbs'>;

const aggregated = ['v2', 'v2beta1'].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
);
const accept = [...aggregated, 'application/json'].join(',');

/** Any discovery document; each form has some of the fields. */
interface DiscoveryDocument {
  readonly kind?: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version: string; readonly resources?: readonly AggregatedResource[] }[];
  }[];
  readonly versions?: readonly string[];
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion?: { readonly version: string };
    readonly versions: readonly { readonly version: string }[];
  }[];
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs?: readonly string[];
  }[];
}

interface AggregatedResource {
  readonly resource: string;
  readonly scope: string;
  readonly verbs?: readonly string[];
  readonly responseKind?: { readonly kind?: string } | null;
}

async function groupsAt(client: Client, path: '/api' | '/apis', signal?: AbortSignal): Promise<readonly Group[]> {
  const read = async (at: string): Promise<DiscoveryDocument> =>
    // A cast where bytes become an object.
    (await client.read(at, { accept, signal })) as DiscoveryDocument;
  const document = await read(path);
  if (document.kind === 'APIGroupDiscoveryList') {
    return (document.items ?? []).map(({ metadata, versions = [] }) => ({
      name: metadata?.name ?? '',
      versions: versions.map(({ version, resources = [] }) => ({ version, resources: resources.map(resourceOf) })),
    }));
  }
  const groups = document.groups ?? [
    { name: '', versions: (document.versions ?? []).map((version) => ({ version })), preferredVersion: undefined },
  ];
  return Promise.all(
    groups.map(async ({ name, versions, preferredVersion }) => {
      const first = preferredVersion?.version;
      const ordered = versions.toSorted((a, b) => Number(b.version === first) - Number(a.version === first));
      const resources = ordered.map(async ({ version }) => {
        const { resources: listed = [] } = await read(name === '' ? `/api/${version}` : `/apis/${name}/${version}`);
        // The list includes subresources.
        return { version, resources: listed.filter((each) => !each.name.includes('/')).map(legacyResourceOf) };
      });
      return { name, versions: await Promise.all(resources) };
    }),
  );
}

const resourceOf = ({ resource, scope, verbs = [], responseKind }: AggregatedResource): Resource => ({
  kind: responseKind?.kind ?? '',
  plural: resource,
  namespaced: scope === 'Namespaced',
  verbs,
});

const legacyResourceOf = ({
  name,
  kind,
  namespaced,
  verbs = [],
}: NonNullable<DiscoveryDocument['resources']>[number]): Resource => ({ kind, plural: name, namespaced, verbs });
