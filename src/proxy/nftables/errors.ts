/** Why nftables cannot be used or did not do what it was told. */
export class NftablesError extends Error {
  /**
   * `nft-missing`, `nft-old`, `nft-rights`, `nft-unsupported`: it cannot work here, and never will.
   * `nft-failed`: this time it did not; everything is loaded again.
   */
  readonly code: 'nft-missing' | 'nft-old' | 'nft-rights' | 'nft-unsupported' | 'nft-failed';

  constructor(code: NftablesError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NftablesError';
    this.code = code;
  }
}
