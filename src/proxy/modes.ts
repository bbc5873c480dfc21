import type { PartContext } from '../client/part.ts';
import type { Backend } from './backend.ts';
import type { LoopbackObserver } from './beside-loopback.ts';
import type { NftablesObserver, NftablesOptions } from './nftables/backend.ts';
import type { UserspaceOptions } from './userspace/options.ts';

/** What a mode is told, by mode. */
export interface BackendOptions {
  readonly nftables?: Omit<NftablesOptions, 'observer'>;
  readonly userspace?: UserspaceOptions;
}

/** Where a mode tells what it does. */
export interface BackendContext extends Pick<PartContext, 'log' | 'metrics'> {
  readonly observer: NftablesObserver & LoopbackObserver;
}

/** Opens the backend of a mode; rejects with an error that says what to do where the mode cannot work. */
type OpenBackend = (options: BackendOptions, context: BackendContext) => Promise<Backend>;

const openUserspace: OpenBackend = async (options, context) => {
  const { UserspaceBackend } = await import('./userspace/backend.ts');
  return UserspaceBackend.open(options.userspace, context);
};

const openNftables: OpenBackend = async (options, context) => {
  const [{ NftablesBackend }, { BesideLoopback }] = await Promise.all([
    import('./nftables/backend.ts'),
    import('./beside-loopback.ts'),
  ]);
  const { observer } = context;
  const rules = await NftablesBackend.open({ ...options.nftables, observer });
  return new BesideLoopback(rules, () => openUserspace(options, context), observer);
};

/** The modes there are. Code of a mode is loaded when it is chosen. */
export const modes = {
  nftables: openNftables,
  userspace: openUserspace,
} as const satisfies Readonly<Record<string, OpenBackend>>;

export type ProxyMode = keyof typeof modes;
