/** A flag that a configuration file can set too, under the same name. */
export interface Flag {
  /** Without the dashes: `data-dir`. */
  readonly name: string;
  /** What stands for the value in help: `DIR`. */
  readonly value: string;
  readonly description: string;
  /** What the flag means without a value; left out: it needs one. */
  readonly bare?: string;
  /** May be given several times; a list in a file. */
  readonly repeatable?: true;
  /** Shown in help; applied by whoever reads the settings. */
  readonly default?: string;
}

/** What was given: flag name → its values, one unless it is repeatable. Flags that were not given are absent. */
export type Settings = ReadonlyMap<string, readonly string[]>;
