/** The content of `state.json`, for other programs. */
export interface State {
  readonly clusters: readonly ClusterState[];
  readonly pid: number;
}

export interface ClusterState {
  readonly name: string;
  /** URL of the API server. */
  readonly server: string;
  /** Absent while no DNS server runs. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** The zones of the DNS server. */
  readonly zones: readonly string[];
  readonly serviceCIDRs: readonly string[];
  /** The parts beside the server, with their problems. */
  readonly parts: readonly PartState[];
}

export interface PartState {
  readonly name: string;
  readonly problems: readonly string[];
  /** Flag → its values: the actions of the part's command need them to show what the part does. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
}

/** The file in the data directory that holds the state: written when ready and when it changes, removed on exit. */
export const stateFile = 'state.json';

/** The text of the file. */
export const printState = (state: State): string => `${JSON.stringify(state, undefined, 2)}\n`;
