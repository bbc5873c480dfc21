import { setInterval, setTimeout } from '../../machine/timers.ts';
import type { EtcdClient } from './client.ts';
import type { Lease } from './messages.ts';
import { leaseGrant, leaseKeepAlive, leaseRevoke } from './messages.ts';

/** How long the process may be paused before its own keys are removed. */
const sessionSeconds = 60;
const renewMs = 15_000;
const keepAliveMs = 5000;

/** The lease of this process, for its own keys. */
export class Session implements AsyncDisposable {
  readonly #client: EtcdClient;
  readonly #timer: NodeJS.Timeout;
  #lease: Promise<Lease> | undefined;

  constructor(client: EtcdClient) {
    this.#client = client;
    this.#timer = setInterval(() => void this.#renew(), renewMs);
    this.#timer.unref();
  }

  /** The ID of the lease, granted on the first use and after `reset`. */
  async id(): Promise<bigint> {
    this.#lease ??= this.#client.call(leaseGrant, { ttlSeconds: sessionSeconds });
    try {
      return (await this.#lease).id;
    } catch (error) {
      this.#lease = undefined;
      throw error;
    }
  }

  /** Grants another lease on the next use, because etcd does not have this one any more. */
  reset(): void {
    this.#lease = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const lease = await this.#lease?.catch(() => undefined);
    if (lease !== undefined) await this.#client.attempt(leaseRevoke, { id: lease.id }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const held = this.#lease;
    const lease = await held?.catch(() => undefined);
    if (lease === undefined) return;
    const ttlSeconds = await keepAlive(this.#client, lease.id).catch(() => undefined); // retried by the next renewal
    if (ttlSeconds === 0 && this.#lease === held) this.reset();
  }
}

/** Renews a lease; returns its TTL, which is 0 if it does not exist. */
function keepAlive(client: EtcdClient, id: bigint): Promise<number> {
  const stream = client.stream(leaseKeepAlive);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const timer = setTimeout(() => stream.cancel(), keepAliveMs);
  stream.on('data', ({ ttlSeconds }: Lease) => {
    resolve(ttlSeconds);
    stream.end();
  });
  stream.on('error', reject);
  stream.on('end', () => reject(new Error('the stream ended')));
  stream.write({ id });
  return promise.finally(() => clearTimeout(timer));
}

/** As in kube-apiserver: keys with the same time to live share a lease for a while. */
const reuse = { share: 0.05, longestMs: 60_000 };
/** An expiry deletes all keys of a lease at one revision, which has fewer positions. */
const maxKeys = 100;

interface SharedLease {
  readonly lease: Promise<Lease>;
  readonly until: number;
  keys: number;
}

/** The leases of keys that expire. */
export class SharedLeases {
  readonly #client: EtcdClient;
  /** TTL → the lease of the next key */
  readonly #leases = new Map<number, SharedLease>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** The ID of a lease that expires after the TTL, or up to a minute later. */
  async idFor(ttlSeconds: number): Promise<bigint> {
    const now = performance.now();
    let shared = this.#leases.get(ttlSeconds);
    if (shared === undefined || shared.until < now || shared.keys >= maxKeys) {
      const reuseMs = Math.min(ttlSeconds * 1000 * reuse.share, reuse.longestMs);
      const lease = this.#client.call(leaseGrant, { ttlSeconds: ttlSeconds + Math.ceil(reuseMs / 1000) });
      shared = { lease, until: now + reuseMs, keys: 0 };
      this.#leases.set(ttlSeconds, shared);
    }
    shared.keys++;
    try {
      return (await shared.lease).id;
    } catch (error) {
      this.#leases.delete(ttlSeconds);
      throw error;
    }
  }

  /** Grants new leases from now on, because etcd does not have one of them any more. */
  reset(): void {
    this.#leases.clear();
  }
}
