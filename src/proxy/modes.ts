import type { PartContext } from '../client/part.ts';
import type { Backend } from './backend.ts';
import type { LoopbackObserver } from './loopback-backend.ts';
import type { NftablesObserver, NftablesOptions } from './nftables/backend.ts';
import type { UserspaceOptions } from './userspace/options.ts';

/** Options of each mode. */
export interface BackendOptions {
  readonly nftables?: Omit<NftablesOptions, 'observer'>;
  readonly userspace?: UserspaceOptions;
}

/** The log, metrics and observers of a mode. */
export interface BackendContext extends Pick<PartContext, 'log' | 'metrics'> {
  readonly observer: NftablesObserver & LoopbackObserver;
}

/** Opens the backend of a mode; rejects with an error that names the fix if the mode cannot work here. */
type OpenBackend = (options: BackendOptions, context: BackendContext) => Promise<Backend>;

const openUserspace: OpenBackend = async (options, context) => {
  const { UserspaceBackend } = await import('./userspace/backend.ts');
  return UserspaceBackend.open(options.userspace, context);
};

const openNftables: OpenBackend = async (options, context) => {
  const [{ NftablesBackend }, { LoopbackBackend }] = await Promise.all([
    import('./nftables/backend.ts'),
    import('./loopback-backend.ts'),
  ]);
  const { observer } = context;
  const rules = await NftablesBackend.open({ ...options.nftables, observer });
  return new LoopbackBackend(rules, () => openUserspace(options, context), observer);
};

/** All modes. The code of a mode is loaded when it is used. */
export const modes = {
  nftables: openNftables,
  userspace: openUserspace,
} as const satisfies Readonly<Record<string, OpenBackend>>;

export type ProxyMode = keyof typeof modes;
