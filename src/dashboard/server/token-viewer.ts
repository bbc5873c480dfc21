// A person who signed in with bearer tokens. Each cluster decides what they may see: SelfSubjectAccessReviews are sent with
// their own token, so the dashboard needs no right to review others.
import { selfSubjectAccessReviewKind } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import type { Resource, ReviewedKind, Rights } from './rights.ts';
import { allRights, noRights, resources } from './rights.ts';
import type { Viewer } from './viewer.ts';

/** A cluster that a person has a token for. */
export interface ReviewedCluster {
  readonly name: string;
  /** A client with their token. The viewer disposes of it. */
  readonly client: Client;
  /** The kinds that rows show as a resource. */
  readonly kindsOf: (resource: Resource) => readonly ReviewedKind[];
}

/** The last decision on a namespace; '' stands for all namespaces. */
interface Scope {
  rights: Rights;
  /** When the cluster decided. */
  reviewedMs: number;
  /** When it was last requested, with or without an answer. */
  askedMs: number;
}

/** Decisions of a cluster that does not answer end after this time, as those of authorization webhooks in Kubernetes do. */
const staleMs = 5 * 60_000;
const askMs = 5000;
/** Reviews at once. */
const concurrency = 8;
/** More than a cluster has, so that requests with invented names cannot fill the memory. */
const maxScopes = 20_000;

export interface TokenViewerOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Decisions are reused for this long. */
  readonly freshMs: number;
}

interface Reviewed extends ReviewedCluster {
  /** Namespace → decision. */
  readonly scopes: Map<string, Scope>;
}

/** What a person with bearer tokens may see. Nothing is visible before a cluster has allowed it. */
export class TokenViewer implements Viewer {
  readonly isOwner = false;
  readonly #clusters: Map<string, Reviewed>;
  readonly #options: TokenViewerOptions;
  readonly #requests = new Semaphore(concurrency);
  /** Cluster → why the last review failed. */
  readonly #errors = new Map<string, unknown>();
  #review: Promise<boolean> | undefined;
  #hasUnknown = true;

  constructor(clusters: readonly ReviewedCluster[], options: TokenViewerOptions) {
    this.#options = options;
    this.#clusters = new Map(
      clusters.map((cluster) => [cluster.name, { ...cluster, scopes: new Map([['', unknown()]]) }]),
    );
  }

  /** Whether a namespace was requested that no cluster has decided on. */
  get hasUnknown(): boolean {
    return this.#hasUnknown;
  }

  /** Whether a cluster still accepts its token. */
  get isValid(): boolean {
    return this.#clusters.size > 0;
  }

  sees = (cluster: string): boolean => this.#clusters.has(cluster);

  rightsIn = (cluster: string, namespace: string): Rights => {
    const scopes = this.#clusters.get(cluster)?.scopes;
    if (scopes === undefined) return noRights;
    const everywhere = this.#current(scopes.get(''));
    if (everywhere === allRights) return allRights;
    const own = scopes.get(namespace);
    if (own === undefined && scopes.size < maxScopes) {
      scopes.set(namespace, unknown());
      this.#hasUnknown = true;
    }
    return this.#current(own);
  };

  /** Requests decisions that are unknown or expired from the clusters. Resolves with whether one changed. */
  review = (): Promise<boolean> =>
    (this.#review ??= this.#reviewAll().finally(() => {
      this.#review = undefined;
    }));

  /** Why the last review of a cluster failed. */
  errorOf(cluster: string): unknown {
    return this.#errors.get(cluster);
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#clusters.values()) client[Symbol.dispose]();
    this.#clusters.clear();
  }

  #current(scope: Scope | undefined): Rights {
    return scope === undefined || this.#options.clock.elapsed() - scope.reviewedMs > staleMs ? noRights : scope.rights;
  }

  async #reviewAll(): Promise<boolean> {
    this.#hasUnknown = false;
    const changes = await Promise.all(Array.from(this.#clusters.values(), (cluster) => this.#reviewCluster(cluster)));
    return changes.includes(true);
  }

  async #reviewCluster(cluster: Reviewed): Promise<boolean> {
    const { name, client, scopes } = cluster;
    this.#errors.delete(name);
    try {
      // The decision on all namespaces makes the others unnecessary.
      const isChanged = await this.#reviewScope(cluster, '');
      if (scopes.get('')?.rights === allRights) return isChanged;
      const namespaces = [...scopes.keys()].filter((namespace) => namespace !== '');
      const changes = await Promise.all(namespaces.map((namespace) => this.#reviewScope(cluster, namespace)));
      return isChanged || changes.includes(true);
    } catch (error) {
      this.#errors.set(name, error);
      // The last decisions remain while a cluster does not answer.
      if (!hasStatusCode(error, 401)) return false;
      client[Symbol.dispose]();
      return this.#clusters.delete(name);
    }
  }

  async #reviewScope(cluster: Reviewed, namespace: string): Promise<boolean> {
    const scope = cluster.scopes.get(namespace);
    const now = this.#options.clock.elapsed();
    if (scope === undefined || now - scope.askedMs < this.#options.freshMs) return false;
    scope.askedMs = now;
    const rights = await this.#rightsFrom(cluster, namespace);
    const isChanged = resources.some((resource) => rights[resource] !== this.#current(scope)[resource]);
    scope.rights = rights;
    scope.reviewedMs = now;
    return isChanged;
  }

  async #rightsFrom({ client, kindsOf, scopes }: Reviewed, namespace: string): Promise<Rights> {
    const everywhere = scopes.get('')?.rights ?? noRights;
    const isAllowed = async (resource: Resource): Promise<boolean> => {
      if (namespace !== '' && everywhere[resource]) return true;
      const decisions = await Promise.all(
        kindsOf(resource).map(({ group, plural }) => this.#ask(client, { group, resource: plural, namespace })),
      );
      return decisions.every((decision) => decision);
    };
    const decide = async (some: readonly Resource[]): Promise<Rights> => {
      const entries = some.map(async (resource) => [resource, await isAllowed(resource)] as const);
      return { ...noRights, ...Object.fromEntries(await Promise.all(entries)) };
    };
    const rows = await decide(['services', 'serviceimports']);
    // The other kinds only add to rows.
    if (!rows.services && !(rows.serviceimports && kindsOf('serviceimports').length > 0)) return noRights;
    const { services, serviceimports } = rows;
    const all = { ...(await decide(['endpointslices', 'serviceexports', 'events'])), services, serviceimports };
    return resources.every((resource) => all[resource]) ? allRights : all;
  }

  async #ask(client: Client, attributes: Readonly<Record<string, string>>): Promise<boolean> {
    const review = {
      metadata: {},
      spec: { resourceAttributes: { verb: 'list', ...attributes } },
      status: { allowed: false },
    };
    const { status } = await this.#requests.run(() =>
      client.create(selfSubjectAccessReviewKind, review, { signal: AbortSignal.timeout(askMs) }),
    );
    return status.allowed;
  }
}

const unknown = (): Scope => ({ rights: noRights, reviewedMs: -Infinity, askedMs: -Infinity });
