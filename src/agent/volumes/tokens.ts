// Tokens of the service accounts of Pods, renewed before they expire.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';

interface Issued {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly renewAt: number;
}

const defaultSeconds = 3600;
const dayMs = 86_400_000;
/** The share of its lifetime after which a token is renewed. */
const renewShare = 0.8;

/** The tokens that a Pod mounts. */
export class PodTokens {
  readonly #client: Client;
  readonly #clock: Clock;
  /** audience → its token */
  readonly #issued = new Map<string, Issued>();

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  get(audience: string): string | undefined {
    return this.#issued.get(audience)?.token;
  }

  /** Requests the tokens that are due. Returns when the next one is, in milliseconds since 1970. */
  async renew(pod: Pod): Promise<number | undefined> {
    const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
    const wanted = sources.flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
    for (const { audience = '', expirationSeconds = defaultSeconds } of wanted) {
      const issued = this.#issued.get(audience);
      if (issued === undefined || issued.renewAt <= this.#clock.now())
        this.#issued.set(audience, await this.#request(pod, audience, expirationSeconds));
    }
    const times = Array.from(this.#issued.values(), ({ renewAt }) => renewAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  async #request(pod: Pod, audience: string, expirationSeconds: number): Promise<Issued> {
    const { namespace = '', name = '', uid = '' } = pod.metadata;
    const account = pod.spec.serviceAccountName ?? 'default';
    const request = {
      spec: {
        audiences: audience === '' ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    };
    const { status } = await this.#client.requestBoundToken({ namespace, name: account }, request);
    const now = this.#clock.now();
    const lifeMs = Date.parse(status.expirationTimestamp) - now;
    return { token: status.token, renewAt: now + Math.min(lifeMs * renewShare, dayMs) };
  }
}
