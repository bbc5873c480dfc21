import type { Logger } from 'pino';

import type { WriteContext } from '../api/kind.ts';
import type { Entry, Store } from '../store/store.ts';
import type { Identity } from './access/identity/identity.ts';
import type { ServiceAllocator } from './allocate/service-allocator.ts';
import type { Authorizer } from './access/authorize.ts';
import type { WatchCache } from './cache/watch-cache.ts';
import type { Flusher } from './cache/flusher.ts';
import type { ActiveFlows } from './limits/active-flows.ts';
import type { AdmissionPlugins } from './admission/plugins.ts';
import type { Webhooks } from './admission/webhooks/webhooks.ts';
import type { TimeSlicer } from './limits/time-slicer.ts';
import type { UnsentBytes } from './limits/unsent-bytes.ts';
import type { Quotas } from './quota/quotas.ts';
import type { WatchLimits } from './limits/watch-limits.ts';

/** What every verb works with. */
export interface ServerContext {
  readonly store: Store;
  /** Whether an entry should be written even if nothing changes: it is encrypted with a key that no longer writes. */
  readonly isStale: (entry: Entry) => boolean;
  readonly watchCache: WatchCache;
  readonly allocator: ServiceAllocator;
  readonly access: Authorizer;
  readonly identity: Identity;
  readonly plugins: AdmissionPlugins;
  readonly quotas: Quotas;
  /** Who is asked before a write. */
  readonly webhooks: Webhooks;
  readonly write: WriteContext;
  readonly activeFlows: ActiveFlows;
  readonly flusher: Flusher;
  readonly watches: WatchLimits;
  /** Where large requests share the event loop. */
  readonly timeSlicer: TimeSlicer;
  readonly unsent: UnsentBytes;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** A new UID. */
  readonly uid: () => string;
  /** 0 ≤ x < 1, for names and addresses. */
  readonly random: () => number;
}
