import type { Gates } from '../../api/gates.ts';
import type { User } from '../../api/user.ts';
import type { Client } from '../../client/client.ts';
import type { PartContext, RunningPart } from '../../client/part.ts';
import type { Action, Call } from '../command.ts';
import type { Flag, Settings } from '../options/flags.ts';
import type { SettingsChanges } from './config-reloader.ts';

/** Starts a part at a cluster. Called again after the part has failed, each time with new metrics. */
export type StartPart = (context: StartContext) => RunningPart;

/** What the command line passes to a part. */
export interface StartContext extends PartContext {
  /** All clusters, by name, for a part that runs once for several. */
  readonly peers?: ReadonlyMap<string, Peer>;
  /** A certificate for loopback that a server of this part may use in `fairlead up`, and its CA, as PEM. */
  readonly serving?: () => { readonly cert: string; readonly key: string; readonly ca: string };
  /** The authorities of the cluster, PEM; undefined: those of the system. */
  readonly authorities?: () => string | undefined;
}

/** One of several clusters, and the way to it. */
export interface Peer {
  /** URL of its API server. */
  readonly server: string;
  /** A client with the rights of the part. */
  readonly connect: () => Client;
  /** A client with a bearer token, and no other credentials. */
  readonly connectAs: (token: string) => Client;
}

/** Imports a part's code, the slowest step of its start; others run meanwhile. */
export type LoadPart = () => Promise<StartPart>;

/**
 * A part of the control plane as the command line sees it. To add one, write a `part.ts` that exports its `part`, and add
 * a row to `parts.ts`: the command, `--parts`, health, metrics, restarts and the connection to the cluster come with it.
 */
export interface Part {
  readonly name: string;
  readonly description: string;
  readonly examples: readonly string[];
  /** Flags of its own. */
  readonly flags: readonly Flag[];
  /** Where `/readyz` and `/metrics` are served when it runs alone: a default port, or addresses that its flags set. */
  readonly health: number | ((settings: Settings) => readonly HealthAddress[]);
  /** Reads the flags. `changes` reports changes of the configuration file later. Throws a UsageError. */
  alone(settings: Settings, changes: SettingsChanges): LoadPart;
  /** By name. */
  readonly actions?: Readonly<Record<string, PartAction>>;
  /** Runs once, at the first cluster of `fairlead up`; left out: it runs in each cluster. */
  readonly isOneForAll?: boolean;
  /** Alone it runs for all clusters that `--context` and `--kubeconfig` select, as its `peers`. */
  readonly isForSeveral?: boolean;
  /** Reads the section of the configuration file of `fairlead up`, for one of its clusters. */
  inUp(cluster: UpCluster): LoadPart;
  /** The user that it is in `fairlead up`; left out: the one of its role. */
  userInUp?(cluster: UpCluster): Pick<User, 'name' | 'groups'>;
  /** The flags that make the actions show what the part does in a cluster of `fairlead up`. */
  flagsInUp?(cluster: UpCluster): Settings;
}

/** An action of a part's command, such as `fairlead dns query NAME`. */
export interface PartAction extends Omit<Action, 'run'> {
  /** It needs no cluster: `--kubeconfig` and `--context` are not among its flags. */
  readonly isOffline?: true;
  /** The result is the exit code. */
  run(call: ActionCall): Promise<number>;
}

export interface ActionCall extends Pick<Call, 'args' | 'settings' | 'streams'> {
  /** A client of the cluster that the flags, the environment or a running `fairlead up` name. */
  readonly connect: () => Promise<Client>;
  /** The flags that were given, over those with which a running `fairlead up` runs the part in that cluster. */
  readonly settingsInCluster: () => Promise<SettingsInCluster>;
}

export interface SettingsInCluster {
  readonly settings: Settings;
  /** The process of that `fairlead up`. */
  readonly pid: number | undefined;
}

/** An address that serves health and metrics. */
export interface HealthAddress {
  readonly host: string;
  readonly port: number;
  /** The flag that changes it: `health-port`. */
  readonly flag: string;
  /** `/healthz` reports readiness, as load balancers in front of nodes expect. */
  readonly isHealthReadiness?: boolean;
  /** Count the answers of `/healthz` and `/livez` in metrics with this prefix. */
  readonly probeMetrics?: string;
}

/** A cluster of `fairlead up`, as far as parts differ by it. */
export interface UpCluster {
  readonly name: string;
  readonly gates: Gates;
  readonly serviceCidrs: readonly string[];
  /** The part's section of the configuration file. */
  readonly settings?: Settings;
  /** The directory of this `up`, for the state of its parts. */
  readonly dataDir?: string;
  /** The sections of other parts in the configuration file. */
  readonly sectionOf?: (part: string) => Settings;
  /** The address of its DNS server, if it has one. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** The ports of the dashboard; the first free one is used. */
  readonly dashboardPorts?: readonly number[];
  /** The range of its supercluster IPs. */
  readonly superclusterCidrs?: readonly string[];
  /** All clusters of this `up`, this one among them, in the order they were given. */
  readonly all?: readonly Omit<UpCluster, 'all' | 'gates' | 'settings'>[];
}

/** The index of a cluster among those of its `up`; 0 if it is alone. */
export const indexOf = ({ all = [], name }: Pick<UpCluster, 'all' | 'name'>): number =>
  Math.max(
    0,
    all.findIndex((each) => each.name === name),
  );
