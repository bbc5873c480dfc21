import type { Gates } from '../../api/gates.ts';
import type { Client } from '../../client/client.ts';
import type { PartContext, RunningPart } from '../../client/part.ts';
import type { Streams } from '../output.ts';
import type { Flag, Settings } from '../settings.ts';
import type { SettingsChanges } from './config-reloader.ts';

/** Starts a part at a cluster. Called again after it has failed, each time with new metrics. */
export type StartPart = (context: StartContext) => RunningPart;

/** What a part is given by the command line. */
export interface StartContext extends PartContext {
  /** Ways to all clusters of `fairlead up`, by their names, for a part that is one for all; none when it runs alone. */
  readonly peers?: ReadonlyMap<string, () => Client>;
  /** What a server of this part may show on loopback, if it runs in `fairlead up`: PEM, and who signed it. */
  readonly serving?: () => { readonly cert: string; readonly key: string; readonly ca: string };
}

/** Loads a part's code, which takes longer than anything else about it; the rest of a start goes on meanwhile. */
export type LoadPart = () => Promise<StartPart>;

/**
 * A part of the control plane as the command line knows it. To add one is to write a file that exports its `part`, and
 * a line in `registry.ts`: the command, `--parts`, health, metrics, restarts and the way to the cluster come with it.
 */
export interface Part {
  readonly name: string;
  /** The first sentence of its help. */
  readonly description: string;
  /** Command lines that begin its help, two spaces before each. */
  readonly example: string;
  /** Flags of its own. */
  readonly flags: readonly Flag[];
  /** Where `/readyz` and `/metrics` are when it runs alone: a port, unless told otherwise, or places that flags tell. */
  readonly health: number | ((settings: Settings) => readonly HealthPlace[]);
  /** What the flags ask for. `changes` tells of another configuration file later. Throws a UsageError. */
  alone(settings: Settings, changes: SettingsChanges): LoadPart;
  /** By name. */
  readonly actions?: Readonly<Record<string, PartAction>>;
  /** One is enough for all clusters of `fairlead up`: it runs at the first. Left out: each cluster has its own. */
  readonly isOneForAll?: boolean;
  /** What `fairlead up` asks for, in each of its clusters. */
  inUp(cluster: UpCluster): LoadPart;
}

/** What a part's command does instead of running it: `fairlead dns query NAME`. */
export interface PartAction {
  /** What follows the name of the action: `NAME [TYPE]`. */
  readonly usage: string;
  readonly summary: string;
  /** The result is the exit code. */
  run(call: ActionCall): Promise<number>;
}

export interface ActionCall {
  readonly args: readonly string[];
  readonly settings: Settings;
  readonly streams: Streams;
  /** The cluster that the flags name. */
  readonly connect: () => Promise<Client>;
}

/** Where probes and scrapers ask. */
export interface HealthPlace {
  readonly host: string;
  readonly port: number;
  /** What moves it elsewhere: `health-port`. */
  readonly flag: string;
  /** `/healthz` says what `/readyz` says: whoever asks wants to know whether to send something here. */
  readonly isHealthReadiness?: boolean;
  /** Answers of `/healthz` and `/livez` are counted, in metrics whose names begin with this. Left out: they are not. */
  readonly probeMetrics?: string;
}

/** A cluster of `fairlead up`, as far as parts differ by it. */
export interface UpCluster {
  readonly name: string;
  readonly gates: Gates;
  readonly serviceCidrs: readonly string[];
  /** What `--config` says under the name of the part; nothing if left out. */
  readonly settings?: Settings;
  /** Where its DNS server answers, if it has one. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** Where its supercluster IPs are; none if left out. */
  readonly superclusterCidrs?: readonly string[];
  /** All clusters of this `up`, this one among them, in the order they were given; none if left out. */
  readonly all?: readonly Omit<UpCluster, 'all' | 'gates' | 'settings'>[];
}
