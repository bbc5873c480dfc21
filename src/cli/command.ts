import type { Streams } from './output.ts';
import type { Flag, Settings } from './options/flags.ts';

/** What a user can run: a command, or an action of one such as `dns query`. */
export interface Action {
  /** One phrase in the imperative, for lists: `print the version`. */
  readonly summary: string;
  /** The arguments, as `NAME [TYPE]`; more than these are an error. */
  readonly usage?: string;
  /** Sentences for the help, if the summary is not enough. */
  readonly description?: string;
  /** Printed at the end of the help, before the examples. */
  readonly notes?: string;
  /** Command lines, with comments where they help. */
  readonly examples: readonly string[];
  readonly flags: readonly Flag[];
  /** The keys of a configuration file; left out: there is no `--config`. */
  readonly config?: ConfigKeys;
  /** The promise is the exit code. */
  run(call: Call): Promise<number>;
}

/** What a configuration file may contain. */
export interface ConfigKeys {
  readonly flags: readonly Flag[];
  /** Section → its flags. */
  readonly sections?: () => Promise<ReadonlyMap<string, readonly Flag[]>>;
}

/** A command; one without `run` requires an action. */
export interface Command extends Omit<Action, 'run' | 'summary'> {
  readonly actions?: Readonly<Record<string, Action>>;
  readonly run?: Action['run'];
}

/** One call of a command or an action. */
export interface Call {
  readonly args: readonly string[];
  /** The flags of the command line over those of the configuration file. */
  readonly settings: Settings;
  readonly streams: Streams;
  /** The path given with `--config`. */
  readonly configFile: string | undefined;
  /** Reads the settings again, with this text as the content of the configuration file. */
  readonly reread: (text: string) => Promise<Settings>;
}
