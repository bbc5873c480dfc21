// Revisions of the store and of etcd.

/** The parameters by which the revisions of a cluster derive from those of etcd. All servers of a prefix have the same. */
export interface RevisionParameters {
  /** Revisions of the store per revision of etcd. */
  readonly positions: number;
  /** Makes revisions greater than those that the cluster had in another store, or before etcd was restored. */
  readonly offset: number;
}

/** The parameters of a new cluster: each commit of a batch has a revision of its own. */
export const batched: RevisionParameters = { positions: 128, offset: 0 };
/** The parameters of a prefix that a kube-apiserver shares: its revisions are those of etcd. */
export const shared: RevisionParameters = { positions: 1, offset: 0 };

/** Converts between revisions of etcd, with positions in batches, and revisions of the store. */
export class Revisions {
  readonly #positions: number;
  readonly #offset: number;

  constructor({ positions, offset }: RevisionParameters) {
    this.#positions = positions;
    this.#offset = offset;
  }

  /** Whether a transaction of etcd may have several commits. */
  get isBatching(): boolean {
    return this.#positions > 1;
  }

  of(etcd: number, position: number): number {
    return this.#offset + etcd * this.#positions + position;
  }

  /** The revision of etcd of a revision; negative for revisions of an earlier store. */
  etcdOf(revision: number): number {
    return Math.floor((revision - this.#offset) / this.#positions);
  }

  /** The last possible revision of the store with a revision of etcd. */
  lastOf(etcd: number): number {
    return this.of(etcd, this.#positions - 1);
  }
}
