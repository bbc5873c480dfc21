// The connection that delivers rows. A hidden page closes it, since browsers open few connections to one server.
import type { ReadonlySignal } from '@preact/signals';
import { signal } from '@preact/signals';
import type { Delta } from '../view/rows.ts';

/** `replaced`: other windows of this browser took the place of this one. `signed out`: sign in first. */
export type StreamState = 'connecting' | 'live' | 'lost' | 'hidden' | 'replaced' | 'signed out';

/** Longer than a short switch to another tab. */
const hideAfterMs = 15_000;

/** Receives rows while the page is visible. */
export class RowFeed {
  readonly state: ReadonlySignal<StreamState>;
  readonly #state = signal<StreamState>('connecting');
  readonly #apply: (delta: Delta) => void;
  #source: EventSource | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(apply: (delta: Delta) => void) {
    this.state = this.#state;
    this.#apply = apply;
    document.addEventListener('visibilitychange', () => this.#visibilityChanged());
    this.open();
  }

  /** Opens the stream, again if it has ended. */
  open(): void {
    this.#source?.close();
    if (document.visibilityState === 'hidden') {
      this.#state.value = 'hidden';
      return;
    }
    this.#state.value = 'connecting';
    const source = new EventSource('/api/stream');
    this.#source = source;
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      this.#state.value = 'live';
      this.#apply(JSON.parse(data) as Delta); // as the server writes it
    });
    source.addEventListener('end', ({ data }: MessageEvent<string>) => {
      const { reason } = JSON.parse(data) as { readonly reason: StreamState }; // as the server writes it
      this.#end(reason);
    });
    source.addEventListener('error', () => void this.#failed(source));
  }

  #end(state: StreamState): void {
    this.#source?.close();
    this.#source = undefined;
    this.#state.value = state;
  }

  /** The browser connects again by itself, unless the server answered with an error. */
  async #failed(source: EventSource): Promise<void> {
    if (source !== this.#source) return;
    this.#state.value = 'lost';
    if (source.readyState !== EventSource.CLOSED) return;
    const status = await fetch('/api/session').then(
      async (response) => (response.ok ? ((await response.json()) as { readonly isSignedIn: boolean }) : undefined),
      () => undefined,
    );
    if (source !== this.#source) return;
    if (status?.isSignedIn === false) return this.#end('signed out');
    setTimeout(() => {
      if (source === this.#source) this.open();
    }, 2000);
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hiding);
    if (document.visibilityState === 'visible') {
      if (this.#state.value === 'hidden') this.open();
    } else if (this.#source !== undefined) {
      this.#hiding = setTimeout(() => this.#end('hidden'), hideAfterMs);
    }
  }
}
