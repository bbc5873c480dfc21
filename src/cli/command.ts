import type { Command } from 'commander';
import type { Streams } from './output.ts';

/** What a command's file exports: its flags and help, and what it does. The promise is the exit code. */
export interface CommandModule {
  define(command: Command): void;
  execute(command: Command, streams: Streams): Promise<number>;
}
