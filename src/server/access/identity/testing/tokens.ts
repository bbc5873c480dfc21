// A fixture for tests of tokens: objects, a clock and keys.

import type { ApiObject } from '../../../../api/metadata.ts';
import type { Lookup } from '../bound-objects.ts';
import type { KubernetesClaims } from '../claims.ts';
import { ServiceAccountTokens } from '../service-account-tokens.ts';
import type { TokenKey, TokenKeys } from '../token-keys.ts';
import { generateTokenKey, readTokenKey } from '../token-keys.ts';

export const issuer = 'https://kubernetes.example.org';

/** The claims of a token of `shop/cart`. */
export const cart: KubernetesClaims = { namespace: 'shop', serviceaccount: { name: 'cart', uid: 'cart-1' } };

/** Keys that a test adds and removes; changes are visible after a refresh. */
export class TestKeys implements TokenKeys {
  readonly files: TokenKey[] = [];
  #known: readonly TokenKey[] = [];
  refreshes = 0;

  constructor() {
    this.add();
  }

  add(): TokenKey {
    const key = readTokenKey(generateTokenKey(), this.files.length);
    if (key === undefined) throw new Error('a new key can be read');
    this.files.unshift(key);
    return key;
  }

  get(kid: string): TokenKey | undefined {
    return this.#known.find((key) => key.kid === kid);
  }

  all(): readonly TokenKey[] {
    return this.#known;
  }

  async signing(): Promise<TokenKey> {
    await this.refresh();
    const [newest] = this.#known;
    if (newest === undefined) throw new Error('no key');
    return newest;
  }

  async refresh(): Promise<void> {
    this.refreshes++;
    this.#known = [...this.files];
  }

  [Symbol.dispose](): void {
    this.#known = [];
  }
}

export interface TokenWorld {
  readonly tokens: ServiceAccountTokens;
  readonly keys: TestKeys;
  /** `serviceaccounts/shop/cart` → UID */
  readonly objects: Map<string, { readonly uid: string; readonly deletionTimestamp?: string }>;
  now: number;
}

/** A fixture with the account `shop/cart`. */
export function tokenWorld(changes: { readonly issuer?: string; readonly keys?: TestKeys } = {}): TokenWorld {
  const keys = changes.keys ?? new TestKeys();
  const objects: TokenWorld['objects'] = new Map([['serviceaccounts/shop/cart', { uid: 'cart-1' }]]);
  const lookup: Lookup = (kind, namespace, name): ApiObject | undefined => {
    const metadata = objects.get(`${kind.plural}/${namespace}/${name}`);
    return metadata === undefined ? undefined : { metadata: { name, ...metadata } };
  };
  let count = 0;
  const world: TokenWorld = {
    keys,
    objects,
    now: Date.parse('2026-03-01T12:00:00Z'),
    tokens: new ServiceAccountTokens({
      keys,
      issuer: changes.issuer ?? issuer,
      audiences: [changes.issuer ?? issuer],
      lookup,
      clock: () => world.now,
      uid: () => `id-${++count}`,
    }),
  };
  return world;
}
