// Who is signed in, as the page needs it.

/** The answer to `GET /api/session`. */
export interface SessionState {
  readonly isSignedIn: boolean;
  /** They signed in with tokens. */
  readonly canSignOut?: true;
  /** The clusters that tokens are for, before they are signed in. Absent: the secret of the start signs them in. */
  readonly clusters?: readonly string[];
}
