import type { Counters } from './counters.ts';
import type { Heard } from './heard.ts';
import type { SwitchboardChange } from './switchboard.ts';

/** An address and port to be held. */
export interface DoorPlace {
  /** The key of its route. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly heard: Heard;
  /** Clients come back to where they were. */
  readonly isSticky: boolean;
}

/** A door that is open. */
export interface OpenDoor {
  /** Hears these from now on. Left out: it cannot tell the kernel, and resets those whom it should not hear. */
  readonly hear?: (heard: Heard) => void;
  /** Takes no more from it. Connections go on. */
  close(): Promise<void>;
}

/** What accepts connections and moves their bytes. */
export interface Engine extends AsyncDisposable {
  /** What it counts, one for each thread. */
  readonly counters: readonly Counters[];
  /** Resolves when new connections go by it. */
  change(change: SwitchboardChange): Promise<void>;
  /** Rejects with an error whose `code` is the system's. */
  open(place: DoorPlace): Promise<OpenDoor>;
}
