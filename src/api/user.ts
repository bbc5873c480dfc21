/** An authenticated user. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** Further attributes of the credentials, such as the Pod that a token is bound to: key → values. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
