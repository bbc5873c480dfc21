// ClusterMembers and their Secrets as members of the set.
import type { FieldError } from '../../api/field-errors.ts';
import { joinErrors } from '../../api/field-errors.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import {
  clusterMemberErrors,
  clusterMemberKind,
  kubeconfigKey,
} from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { KubeconfigError } from '../../client/errors.ts';
import { overHttps } from '../../client/https.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import { keyFor } from '../../client/key.ts';
import { lazyTransport } from '../../client/lazy-transport.ts';
import { retrying } from '../../client/retry.ts';
import type { MemberEntry } from '../member/entry.ts';
import { optionsOf } from '../member/entry.ts';
import { Vips } from '../member/vips.ts';
import type { MemberAccess, UsableAccess } from './member-secret.ts';
import { accessOf, serverOf } from './member-secret.ts';

/** A ClusterMember as the controller reads it. */
export interface KnownMember {
  readonly object: ClusterMember;
  readonly access: MemberAccess;
  /** The last usable credentials: their server stays the identity of the member while the Secret is damaged. */
  readonly usable: UsableAccess | undefined;
  /** Why its spec is not used; undefined: it is. */
  readonly invalid: string | undefined;
  /** undefined: it never had a valid spec. */
  readonly entry: MemberEntry | undefined;
}

export interface MemberObjectsOptions {
  readonly namespace: string;
  readonly userAgent: string;
}

/** Changes within this time are one change: a member and its Secret are created together. */
const settleMs = 50;

/**
 * Follows the ClusterMembers of a namespace. A member whose Secret is missing or damaged stays a member that does not
 * answer: only the deletion of its ClusterMember removes it from the set.
 */
export class MemberObjects {
  readonly #options: MemberObjectsOptions;
  readonly #clock: Clock;
  readonly #members: Informer<ClusterMember>;
  readonly #secrets: Informer<Secret>;
  readonly #vips = sharedVips();
  /** ID → its member. */
  #known: ReadonlyMap<string, KnownMember> = new Map();

  constructor(informers: Informers, clock: Clock, options: MemberObjectsOptions) {
    this.#options = options;
    this.#clock = clock;
    const { namespace } = options;
    this.#members = informers.of(clusterMemberKind, { namespace });
    // Releases of Helm are large Secrets of the same namespace.
    this.#secrets = informers.of(secretKind, {
      namespace,
      fieldSelector: 'type!=helm.sh/release.v1',
      trim: kubeconfigOnly,
    });
  }

  get known(): ReadonlyMap<string, KnownMember> {
    return this.#known;
  }

  /** Passes the members to `change`, once they have been read and whenever they change, until the signal fires. */
  async follow(change: (entries: readonly MemberEntry[]) => void, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#members.synced(signal), this.#secrets.synced(signal)]);
    let cancel: (() => void) | undefined;
    let reading = this.#read(change);
    const schedule = (): void => {
      if (signal.aborted) return;
      cancel ??= this.#clock.after(settleMs, () => {
        cancel = undefined;
        reading = reading.then(() => (signal.aborted ? undefined : this.#read(change)));
      });
    };
    const handler = { added: schedule, updated: schedule, deleted: schedule };
    const ends = [this.#members.subscribe(handler), this.#secrets.subscribe(handler)];
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    for (const end of ends) end();
    cancel?.();
    await reading;
  }

  /** Never rejects: what is wrong with one member is recorded there. */
  async #read(change: (entries: readonly MemberEntry[]) => void): Promise<void> {
    const read = await Promise.all(this.#members.list().map((object) => this.#readOne(object)));
    this.#known = new Map(read.map((member) => [member.object.metadata.name ?? '', member]));
    change(read.flatMap(({ entry }) => entry ?? []));
  }

  async #readOne(object: ClusterMember): Promise<KnownMember> {
    const { namespace = '', name: id = '', uid } = object.metadata;
    const last = this.#known.get(id);
    const before = last?.object.metadata.uid === uid ? last : undefined;
    const access = await accessOf(object, this.#secrets.get(keyFor({ namespace, name: object.spec.secretRef.name })));
    const usable = access.problem === undefined ? access : before?.usable;
    const invalid = problemsOf(object);
    const entry =
      invalid === undefined
        ? entryFor(object, usable, { vips: this.#vips, connect: () => this.#connect(id) })
        : before?.entry;
    return { object, access, usable, invalid, entry };
  }

  #connect(id: string): Client {
    const missing: MemberAccess = { problem: { reason: 'SecretNotFound', message: `there is no ClusterMember ${id}` } };
    return connectWith(() => this.#known.get(id)?.access ?? missing, this.#options.userAgent);
  }
}

/** The ClusterMembers of a namespace as they are now; invalid ones are left out. */
export async function listMembers(
  client: Client,
  { namespace, userAgent }: MemberObjectsOptions,
): Promise<readonly MemberEntry[]> {
  const { items } = await client.list(clusterMemberKind, { namespace });
  const vips = sharedVips();
  const valid = items.filter((object) => problemsOf(object) === undefined);
  return Promise.all(
    valid.map(async (object) => {
      const access = await accessOf(
        object,
        await client.find(secretKind, { namespace, name: object.spec.secretRef.name }),
      );
      const usable = access.problem === undefined ? access : undefined;
      return entryFor(object, usable, { vips, connect: () => connectWith(() => access, userAgent) });
    }),
  );
}

/** Members with the same ranges share them, so that a service has one address in all (MCS-41). */
function sharedVips(): (cidrs: readonly string[]) => Vips {
  const known = new Map<string, Vips>();
  return (cidrs) => {
    const key = JSON.stringify(cidrs.toSorted());
    const vips = known.get(key) ?? new Vips(cidrs);
    known.set(key, vips);
    return vips;
  };
}

function entryFor(
  { metadata: { name: id = '', uid, deletionTimestamp, labels }, spec }: ClusterMember,
  usable: UsableAccess | undefined,
  { vips, connect }: { readonly vips: ReturnType<typeof sharedVips>; readonly connect: () => Client },
): MemberEntry {
  const { secretRef: _, context, ...settings } = spec;
  const { draining: _live, ...fixed } = settings;
  const isLeaving = settings.leaving === true || deletionTimestamp !== undefined;
  return {
    ...optionsOf(settings),
    id,
    labels,
    isLeaving,
    vips: settings.superclusterCIDRs && vips(settings.superclusterCIDRs),
    connect,
    version: JSON.stringify([uid, fixed, isLeaving, context, usable && serverOf(usable)]),
  };
}

/** A client whose requests fail with the reason while the Secret is not usable, and that follows new credentials. */
function connectWith(accessNow: () => MemberAccess, userAgent: string): Client {
  const usable = (): UsableAccess => {
    const access = accessNow();
    if (access.problem !== undefined) throw new KubeconfigError(access.problem.message);
    return access;
  };
  const open = lazyTransport(async () => {
    const { access } = usable();
    return overHttps(
      {
        ...access,
        async credentials() {
          const { access: now } = usable();
          return { ...now.embedded, ...(now.ca === undefined || now.ca === access.ca ? {} : { ca: now.ca }) };
        },
      },
      { userAgent },
    );
  });
  return new Client(retrying(open), { fieldManager: 'fairlead-multicluster' });
}

/** Secrets of other programs in the namespace are not cached. */
const kubeconfigOnly = ({ data = {}, ...secret }: Secret): Secret => {
  const kubeconfig = data[kubeconfigKey];
  return kubeconfig === undefined
    ? { metadata: secret.metadata }
    : { ...secret, data: { [kubeconfigKey]: kubeconfig } };
};

function problemsOf({ metadata: { name = '' }, spec }: ClusterMember): string | undefined {
  const ids = clusterIdErrors(name).map((body): FieldError => ({
    path: 'metadata.name',
    reason: 'FieldValueInvalid',
    body,
  }));
  const errors = [...ids, ...clusterMemberErrors(spec)];
  return errors.length === 0 ? undefined : joinErrors(errors);
}
