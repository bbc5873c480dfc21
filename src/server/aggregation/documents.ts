import type { OutgoingHttpHeaders } from 'node:http';

import type { Kind } from '../../api/kind.ts';
import type { Document } from '../discovery/document.ts';
import type { RemoteDocument } from './backend.ts';
import type { RemoteDiscovery } from './discovery.ts';
import { resourcesOf } from './discovery.ts';
import type { Swagger } from './openapi.ts';
import { hashInIndex, partFor } from './openapi.ts';
import type { RemoteVersion, RemoteVersions } from './remote-versions.ts';

/** What an aggregated server has answered last. */
interface Answers {
  /** The Service that answered; another one starts anew. */
  readonly service: string;
  readonly discovery?: string;
  readonly resources: readonly object[];
  readonly isCurrent: boolean;
  /** The hash of its document of OpenAPI v3; undefined: there is none. */
  readonly hash?: string;
  readonly swagger?: { readonly part: Swagger; readonly etag: string };
}

/** The documents of aggregated servers, which are kept so that a server that stalls delays no client. */
export class RemoteDocuments {
  readonly #remotes: RemoteVersions;
  /** The name of an APIService → the answers of its server */
  readonly #answers = new Map<string, Answers>();
  /** Changes with every change. */
  #version = 0;
  readonly #memo = new Map<string, { readonly version: number; readonly from: unknown; readonly document: Document }>();
  #kinds: { readonly version: number; readonly all: readonly Kind[]; readonly own: readonly Kind[] } | undefined;

  constructor(remotes: RemoteVersions) {
    this.#remotes = remotes;
    remotes.onChange(() => void this.#version++);
  }

  /** The kinds that no other server serves; the same list while nothing changes. */
  ownKinds(all: readonly Kind[]): readonly Kind[] {
    if (this.#remotes.isEmpty) return all;
    if (this.#kinds?.version === this.#version && this.#kinds.all === all) return this.#kinds.own;
    const own = all.filter(({ group, version }) => this.#remotes.at(group, version) === undefined);
    this.#kinds = { version: this.#version, all, own };
    return own;
  }

  /** What discovery has of the versions of other servers. */
  get discovery(): readonly RemoteDiscovery[] {
    return this.#remotes.all.map(({ group, version, apiService }) => {
      const { groupPriorityMinimum: groupPriority, versionPriority } = apiService.spec;
      const { resources = [], isCurrent = false } = this.#answers.get(apiService.metadata.name ?? '') ?? {};
      return { group, version, groupPriority, versionPriority, resources, isCurrent };
    });
  }

  /** The keys of the documents of OpenAPI v3 → their hashes */
  get hashes(): ReadonlyMap<string, string> {
    return new Map(
      this.#remotes.all.flatMap(({ group, version, apiService }) => {
        const hash = this.#answers.get(apiService.metadata.name ?? '')?.hash;
        return hash === undefined ? [] : [[`apis/${group}/${version}`, hash] as const];
      }),
    );
  }

  /** The documents of OpenAPI v2. */
  get swaggers(): readonly Swagger[] {
    return this.#remotes.all.flatMap(
      ({ apiService }) => this.#answers.get(apiService.metadata.name ?? '')?.swagger?.part ?? [],
    );
  }

  /** The document of `from` merged with those of other servers, computed once per change. */
  merged<From extends Document | undefined>(
    name: string,
    from: From,
    merge: (from: From) => Document | undefined,
  ): Document | From {
    if (this.#remotes.isEmpty) return from;
    const known = this.#memo.get(name);
    if (known?.version === this.#version && known.from === from) return known.document;
    const document = merge(from);
    // Only documents that exist are kept, since clients choose the names of groups.
    if (document !== undefined) this.#memo.set(name, { version: this.#version, from, document });
    return document ?? from;
  }

  /** Records what discovery of the server answered; undefined: it did not answer. */
  setDiscovery(remote: RemoteVersion, text: string | undefined): void {
    const before = this.#before(remote);
    if (text !== undefined && before.isCurrent && before.discovery === text) return;
    let resources: readonly object[] | undefined;
    try {
      resources = text === undefined ? undefined : resourcesOf(text, remote);
    } catch {
      // Garbage is the same as no answer.
    }
    if (resources === undefined && !before.isCurrent && this.#answers.has(nameOf(remote))) return;
    this.#set(remote, {
      ...before,
      ...(resources === undefined || text === undefined ? {} : { discovery: text, resources }),
      isCurrent: resources !== undefined,
    });
  }

  /** Reads the OpenAPI documents of a server. */
  async readOpenApi(
    remote: RemoteVersion,
    read: (path: string, headers: OutgoingHttpHeaders) => Promise<RemoteDocument>,
  ): Promise<void> {
    const index = await read('/openapi/v3', {});
    const hash = index.status === 200 ? hashInIndex(index.text, `apis/${remote.group}/${remote.version}`) : undefined;
    const { hash: known } = this.#before(remote);
    if (hash !== undefined && hash !== known) this.#set(remote, { ...this.#before(remote), hash });
    const { swagger: old } = this.#before(remote);
    const { status, text, headers } = await read('/openapi/v2', old === undefined ? {} : { 'if-none-match': old.etag });
    if (status !== 200 || (old !== undefined && old.etag !== '' && headers.etag === old.etag)) return;
    const swagger = { part: partFor(text, remote), etag: headers.etag ?? '' };
    this.#set(remote, { ...this.#before(remote), swagger });
  }

  /** Forgets an APIService that is deleted, or served by this server itself. */
  forget(name: string): void {
    if (this.#answers.delete(name)) this.#version++;
    if (this.#remotes.isEmpty) this.#memo.clear();
  }

  #before(remote: RemoteVersion): Answers {
    const { namespace, name, port } = remote.service;
    const service = `${namespace}/${name}:${port}`;
    const before = this.#answers.get(nameOf(remote));
    return before?.service === service ? before : { service, resources: [], isCurrent: false };
  }

  #set(remote: RemoteVersion, answers: Answers): void {
    this.#answers.set(nameOf(remote), answers);
    this.#version++;
  }
}

const nameOf = ({ apiService }: RemoteVersion): string => apiService.metadata.name ?? '';
