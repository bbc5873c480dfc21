/** What `state.json` tells other programs about a running control plane. */
export interface State {
  readonly clusters: readonly ClusterState[];
  /** Absent while no dashboard runs. */
  readonly dashboard?: string;
  readonly pid: number;
}

export interface ClusterState {
  readonly name: string;
  /** URL of the API server. */
  readonly server: string;
  /** Absent while no DNS server runs. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** The DNS zones that are answered. */
  readonly zones: readonly string[];
  readonly serviceCIDRs: readonly string[];
  /** The parts that run beside the server, and what keeps each from its work: nothing, when all is well. */
  readonly parts: readonly { readonly name: string; readonly problems: readonly string[] }[];
}

/** The file in the data directory that holds the state: written when ready and when it changes, removed on exit. */
export const stateFile = 'state.json';

/** The text of the file. */
export const printState = (state: State): string => `${JSON.stringify(state, undefined, 2)}\n`;
