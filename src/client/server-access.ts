/** What proves who we are: a token, or a certificate with its key, as PEM. */
export interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where a server is, how it is known and who connects. */
export interface ServerAccess {
  /** Such as `https://192.0.2.1:6443`; a path is kept in front of every request. */
  readonly server: string;
  /** PEM of those who may sign the server's certificate; default: whom the system trusts. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** The name to expect in the certificate; default: that of `server`. */
  readonly tlsServerName?: string;
  /** Asked before every request. `isRefused`: the last ones were answered with 401. */
  readonly credentials: (isRefused: boolean) => Promise<Credentials>;
}
