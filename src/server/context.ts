import type { Logger } from 'pino';

import type { WriteContext } from '../api/kind.ts';
import type { Entry, Store } from '../store/store.ts';
import type { Identity } from './access/identity/authenticator.ts';
import type { ServiceAllocator } from './allocate/service-allocator.ts';
import type { Aggregation } from './aggregation/aggregation.ts';
import type { Authorizer } from './access/authorize.ts';
import type { WatchCache } from './cache/watch-cache.ts';
import type { Flusher } from './cache/flusher.ts';
import type { Conversions } from './conversion/conversions.ts';
import type { ActiveFlows } from './limits/active-flows.ts';
import type { AdmissionPlugins } from './admission/plugins.ts';
import type { MutatingPolicies } from './admission/policies/mutating.ts';
import type { Policies } from './admission/policies/policies.ts';
import type { Webhooks } from './admission/webhooks/webhooks.ts';
import type { TimeSlicer } from './limits/time-slicer.ts';
import type { UnsentBytes } from './limits/unsent-bytes.ts';
import type { NodeClient } from './nodes/node-client.ts';
import type { OpenStreams } from './nodes/open-streams.ts';
import type { NodeUsage } from './usage/node-usage.ts';
import type { Quotas } from './quota/quotas.ts';
import type { ServedResources } from './served-resources.ts';
import type { WatchLimits } from './limits/watch-limits.ts';
import type { BodyDecoder } from './verbs/body-decoder.ts';

/** The services that every request handler uses. */
export interface ServerContext {
  readonly store: Store;
  /** Whether an unchanged entry must be written again, because it is not encrypted with the current key. */
  readonly isStale: (entry: Entry) => boolean;
  readonly watchCache: WatchCache;
  /** All served kinds. */
  readonly resources: ServedResources;
  readonly allocator: ServiceAllocator;
  readonly access: Authorizer;
  readonly identity: Identity;
  readonly plugins: AdmissionPlugins;
  readonly quotas: Quotas;
  /** ValidatingAdmissionPolicies. */
  readonly policies: Policies;
  /** MutatingAdmissionPolicies. */
  readonly mutatingPolicies: MutatingPolicies;
  /** Admission webhooks. */
  readonly webhooks: Webhooks;
  /** Conversion webhooks of custom resources. */
  readonly conversions: Conversions;
  readonly write: WriteContext;
  readonly activeFlows: ActiveFlows;
  readonly flusher: Flusher;
  readonly watches: WatchLimits;
  /** Time-slices expensive requests. */
  readonly timeSlicer: TimeSlicer;
  readonly unsent: UnsentBytes;
  /** API servers behind Services, to which requests for their groups are passed on. */
  readonly aggregation: Aggregation;
  /** Connections to the servers of nodes, and to aggregated API servers. */
  readonly nodes: NodeClient;
  /** What nodes and their Pods use. */
  readonly usage: NodeUsage;
  /** Streams between clients and nodes. */
  readonly streams: OpenStreams;
  /** Decodes the bodies of requests. */
  readonly bodies: BodyDecoder;
  readonly log: Logger;
  /** Returns milliseconds since the epoch. */
  readonly clock: () => number;
  /** Returns a new UID. */
  readonly uid: () => string;
  /** Returns 0 ≤ x < 1, for generated names and addresses. */
  readonly random: () => number;
}
