/** nftables cannot be used, or a transaction failed. */
export class NftablesError extends Error {
  /**
   * `nft-missing`, `nft-old`, `nft-rights`, `nft-unsupported`: it cannot work on this machine.
   * `nft-failed`: a transaction failed; a full load follows.
   */
  readonly code: 'nft-missing' | 'nft-old' | 'nft-rights' | 'nft-unsupported' | 'nft-failed';

  constructor(code: NftablesError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NftablesError';
    this.code = code;
  }
}
