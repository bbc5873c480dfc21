import type { Key } from '../../client/key.ts';
import { keysFrom, keysIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import type { MemberQueues } from './member-queues.ts';
import type { Membership } from './membership.ts';
import type { Services } from './services.ts';

export interface ServiceQueuesOptions {
  readonly services: Services;
  readonly membership: Membership;
  /** The queues of the import reconciler. */
  readonly imports: MemberQueues;
  /** The queues of the export reconciler. */
  readonly exports: MemberQueues;
}

/** Decides in which members a service is reconciled, and enqueues it there. Does nothing before `open`. */
export class ServiceQueues {
  readonly #services: Services;
  readonly #membership: Membership;
  readonly #imports: MemberQueues;
  readonly #exports: MemberQueues;

  constructor({ services, membership, imports, exports }: ServiceQueuesOptions) {
    this.#services = services;
    this.#membership = membership;
    this.#imports = imports;
    this.#exports = exports;
  }

  /** Member → services that wait to be written to it. */
  get lengths(): ReadonlyMap<string, number> {
    return this.#imports.lengths;
  }

  /** Opens the queues of a member until the signal fires. */
  open(member: Member, signal: AbortSignal): void {
    this.#imports.open(member, signal);
    if (member.options.isReadOnly !== true) this.#exports.open(member, signal);
  }

  /** Starts no more reconciles in a member, and resolves when those that run have ended. */
  async close(id: string): Promise<void> {
    await Promise.all([this.#imports.close(id), this.#exports.close(id)]);
  }

  async closeAll(): Promise<void> {
    await Promise.all([this.#imports.closeAll(), this.#exports.closeAll()]);
  }

  /** Enqueues a service in one member as an import. */
  enqueueImport(id: string, key: Key): void {
    this.#imports.add(id, key);
  }

  /** Enqueues a service in one member, as an import and as an export. */
  enqueueIn(id: string, key: Key): void {
    this.#imports.add(id, key);
    this.#exports.add(id, key);
  }

  /** Enqueues a service in the members that import it. */
  enqueueImports(key: Key): void {
    for (const { id } of this.importers(key)) this.#imports.add(id, key);
  }

  /** Enqueues a service in the members that export it. */
  enqueueExports(key: Key): void {
    for (const member of this.#exports.members) if (member.isExported(key)) this.#exports.add(member.id, key);
  }

  /** Enqueues all services in one member. */
  enqueueAllIn(member: Member): void {
    const keys = new Set(keysIn(member));
    const isRemover = member === this.#remover();
    for (const key of this.#services.known())
      if (member.concerns(key) || (isRemover && this.importers(key).includes(member))) keys.add(key);
    for (const key of keys) this.enqueueIn(member.id, key);
  }

  /**
   * Enqueues what depends on the state of a member: all that it exports or that came from it, everywhere; everything in the
   * member itself; and all exports, since their conditions list the members. A service without exports may have waited for
   * this member before it is deleted.
   */
  enqueueRelatedTo(member: Member): void {
    const exported = new Set([...keysIn(member), ...this.#services.exportedBy(member.id)]);
    for (const key of exported) this.#services.changed(key);
    if (this.#imports.members.length === 0) return;
    const imported = this.#membership.members.flatMap((each) => keysFrom(member.id, each));
    for (const key of new Set([...exported, ...imported])) this.enqueueImports(key);
    this.enqueueAllIn(member);
    for (const key of this.#services.known()) {
      this.enqueueExports(key);
      if (this.#services.get(key).exporters.length === 0) this.enqueueImports(key);
    }
  }

  /** The members with the namespace of a service; if there is none, one member that deletes it from `Services`. */
  importers(key: Key): readonly Member[] {
    const open = this.#imports.members;
    const concerned = open.filter((member) => member.concerns(key));
    if (concerned.length > 0) return concerned;
    const remover = this.#remover();
    return open.filter((member) => member === remover);
  }

  /** The member that reconciles services which concern no member, so that they are deleted from `Services`. */
  #remover(): Member | undefined {
    return this.#membership.participating().find(({ isReady }) => isReady);
  }
}
