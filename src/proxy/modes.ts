import type { PartContext } from '../client/part.ts';
import type { Backend } from './backend.ts';
import type { NftablesObserver, NftablesOptions } from './nftables/backend.ts';
import type { UserspaceOptions } from './userspace/options.ts';

/** What a mode is told, by mode. */
export interface BackendOptions {
  readonly nftables?: Omit<NftablesOptions, 'observer'>;
  readonly userspace?: UserspaceOptions;
}

/** Where a mode tells what it does. */
export interface BackendContext extends Pick<PartContext, 'log' | 'metrics'> {
  readonly observer: NftablesObserver;
}

/** Opens the backend of a mode; rejects with an error that says what to do where the mode cannot work. */
type OpenBackend = (options: BackendOptions, context: BackendContext) => Promise<Backend>;

/** The modes there are. Code of a mode is loaded when it is chosen. */
export const modes = {
  nftables: async (options, { observer }) => {
    const { NftablesBackend } = await import('./nftables/backend.ts');
    return NftablesBackend.open({ ...options.nftables, observer });
  },
  userspace: async (options, context) => {
    const { UserspaceBackend } = await import('./userspace/backend.ts');
    return UserspaceBackend.open(options.userspace, context);
  },
} as const satisfies Readonly<Record<string, OpenBackend>>;

export type ProxyMode = keyof typeof modes;
