import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * The paths of the webhook: one for each cluster, with a secret that is new at every start. The webhook configuration passes it to
 * the API server of that cluster, which authenticates it as a member of the set.
 */
export class Paths {
  readonly #key = randomBytes(32);

  /** The path for the API server of `cluster`. */
  pathOf(cluster: string): string {
    return `/exports/${cluster}/${this.#secretOf(cluster).toString('base64url')}`;
  }

  /** The cluster of a request; undefined if the path is not exactly the one of a cluster. */
  clusterOf(url: string): string | undefined {
    const [, cluster = '', given = ''] = /^\/exports\/([^/?]{1,63})\/([\w-]{43})(?:\?|$)/.exec(url) ?? [];
    const bytes = Buffer.from(given, 'base64url');
    const secret = this.#secretOf(cluster);
    return bytes.length === secret.length && timingSafeEqual(bytes, secret) ? cluster : undefined;
  }

  #secretOf(cluster: string): Buffer {
    return createHmac('sha256', this.#key).update(cluster).digest();
  }
}
