import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddedAccess } from '../../client/kubeconfig.ts';
import type { MemberAccess } from './member-secret.ts';
import type { Observed, ObservedCluster } from './status.ts';
import type { ClusterMemberStatus } from '../../api/kinds/multicluster/clustermember/schema.ts';
import type { DrainProgress } from '../project/drain.ts';
import { drainEvent, statusOf } from './status.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const access: EmbeddedAccess = {
  server: 'https://192.0.2.1:6443',
  context: 'east',
  namespace: 'default',
  userName: 'fairlead',
  embedded: { token: 't' },
  credentials: async () => ({ token: 't' }),
};
const usable = (expiresAtMs?: number): MemberAccess => ({ access, content: '', claims: undefined, expiresAtMs });
const cluster: ObservedCluster = {
  state: 'alive',
  uid: 'u1',
  version: 'v1.35.0',
  problem: undefined,
  waiting: 0,
  lagSeconds: 0,
  exports: ['shop/web', 'shop/api'],
  isLeaving: false,
};
const fine: Observed = {
  generation: 1,
  rejection: undefined,
  access: usable(),
  renewalProblem: undefined,
  cluster,
  nowMs,
};

const cases: readonly { name: string; given: Partial<Observed>; want: readonly string[] }[] = [
  {
    name: 'a member in sync',
    given: {},
    want: ['Accepted=True', 'CredentialsReady=True', 'Reachable=True', 'InSync=True'],
  },
  {
    name: 'a Secret that does not exist',
    given: {
      access: { problem: { reason: 'SecretNotFound', message: 'Secret a/b does not exist' } },
      cluster: { ...cluster, state: 'silent', problem: 'requests to cluster east fail: Secret a/b does not exist' },
    },
    want: [
      'Accepted=True',
      'CredentialsReady=False SecretNotFound: Secret a/b does not exist',
      'Reachable=False NoAnswer: requests to cluster east fail: Secret a/b does not exist',
      'InSync=Unknown NotRead: requests to cluster east fail: Secret a/b does not exist',
    ],
  },
  {
    name: 'a token that expired',
    given: { access: usable(nowMs - 1), renewalProblem: 'Unauthorized' },
    want: [
      'Accepted=True',
      'CredentialsReady=False Expired: the credentials expired at 2026-06-01T11:59:59Z; it could not be renewed: Unauthorized: write new ones into the Secret',
      'Reachable=True',
      'InSync=True',
    ],
  },
  {
    name: 'a token that cannot be renewed',
    given: { access: usable(nowMs + 60_000), renewalProblem: 'forbidden' },
    want: [
      'Accepted=True',
      'CredentialsReady=False RenewalFailed: the token expires at 2026-06-01T12:01:00Z; it could not be renewed: forbidden',
      'Reachable=True',
      'InSync=True',
    ],
  },
  {
    name: 'a spec that is not used',
    given: { rejection: { reason: 'InvalidSpec', message: 'spec.maxExports: …' }, cluster: undefined },
    want: [
      'Accepted=False InvalidSpec: spec.maxExports: …',
      'CredentialsReady=True',
      'Reachable=Unknown NotConnected: the controller does not connect to it',
      'InSync=Unknown NotRead: spec.maxExports: …',
    ],
  },
  {
    name: 'a member that lags',
    given: { cluster: { ...cluster, waiting: 3, lagSeconds: 20 } },
    want: [
      'Accepted=True',
      'CredentialsReady=True',
      'Reachable=True',
      'InSync=False Behind: writes to it are late: see status.lagSeconds',
    ],
  },
  {
    name: 'a member that leaves',
    given: { cluster: { ...cluster, isLeaving: true } },
    want: [
      'Accepted=False Leaving: the cluster leaves the set: its exports are withdrawn',
      'CredentialsReady=True',
      'Reachable=True',
      'InSync=True',
    ],
  },
  {
    name: 'a member whose traffic moves away',
    given: { cluster: { ...cluster, drain: { kept: ['shop/api'], pending: ['shop/web'] } } },
    want: [
      'Accepted=True',
      'CredentialsReady=True',
      'Reachable=True',
      'InSync=True',
      'Drained=False InProgress: other clusters still use its endpoints of shop/web',
    ],
  },
  {
    name: 'a member that drains',
    given: { cluster: { ...cluster, drain: { kept: [], pending: [] } } },
    want: ['Accepted=True', 'CredentialsReady=True', 'Reachable=True', 'InSync=True', 'Drained=True'],
  },
  {
    name: 'a member whose Pods cannot be routed',
    given: { cluster: { ...cluster, overlap: 'its endpointCIDRs overlap' } },
    want: [
      'Accepted=True',
      'CredentialsReady=True',
      'Reachable=True',
      'InSync=True',
      'AddressesRoutable=False OverlappingRanges: its endpointCIDRs overlap',
    ],
  },
  {
    name: 'a member whose gateway others cannot use',
    given: {
      cluster: { ...cluster, gateway: { problem: { reason: 'PeersFailed', message: 'from west: no handshake' } } },
    },
    want: [
      'Accepted=True',
      'CredentialsReady=True',
      'Reachable=True',
      'InSync=True',
      'GatewayReachable=False PeersFailed: from west: no handshake',
    ],
  },
  {
    name: 'a member whose gateway others can use',
    given: { cluster: { ...cluster, gateway: { problem: undefined } } },
    want: ['Accepted=True', 'CredentialsReady=True', 'Reachable=True', 'InSync=True', 'GatewayReachable=True'],
  },
];

test('Events report when a drain is done, incomplete and over', () => {
  const drained = (drain: DrainProgress | undefined, before: ClusterMemberStatus = {}): ClusterMemberStatus =>
    statusOf({ ...fine, cluster: { ...cluster, drain } }, before) ?? before;
  const none = drained(undefined);
  const incomplete = drained({ kept: ['shop/web'], pending: [] }, none);
  const done = drained({ kept: [], pending: [] }, incomplete);
  const over = drained(undefined, done);
  const reasons = [
    [none, none],
    [none, incomplete],
    [incomplete, incomplete],
    [incomplete, done],
    [done, over],
    [over, drained(undefined, over)],
  ].map(([before, after]) => drainEvent(before, after)?.reason);
  assert.deepEqual(reasons, [undefined, 'DrainIncomplete', undefined, 'Drained', 'Undrained', undefined]);
  assert.equal(over.conditions?.find(({ type }) => type === 'Drained')?.reason, 'NotDraining');
});

for (const { name, given, want } of cases) {
  test(`the status of ${name}`, () => {
    const { conditions = [] } = statusOf({ ...fine, ...given }) ?? {};
    const texts = conditions.map(({ type, status, reason, message }) =>
      status === 'True' ? `${type}=True` : `${type}=${status} ${reason}: ${message}`,
    );
    assert.deepEqual(texts, want);
  });
}

test('the status has what the cluster is and exports, and an unchanged one is not written', () => {
  const status = statusOf({ ...fine, access: usable(nowMs + 3_600_000) });
  const { conditions: _, ...fields } = status ?? {};
  assert.deepEqual(fields, {
    observedGeneration: 1,
    clusterUID: 'u1',
    version: 'v1.35.0',
    exportCount: 2,
    exports: ['shop/api', 'shop/web'],
    waitingServices: 0,
    lagSeconds: 0,
    credentialsExpireAt: '2026-06-01T13:00:00Z',
  });
  const later = { ...fine, access: usable(nowMs + 3_600_000), nowMs: nowMs + 5000 };
  assert.equal(statusOf(later, status), undefined);
});

test('what was known of a cluster stays in the status while it does not answer', () => {
  const before = statusOf(fine);
  const silent: ObservedCluster = {
    ...cluster,
    state: 'silent',
    uid: undefined,
    version: undefined,
    problem: 'no answer',
    exports: [],
  };
  const after = statusOf({ ...fine, cluster: silent }, before);
  assert.deepEqual([after?.clusterUID, after?.version, after?.exportCount], ['u1', 'v1.35.0', 2]);
});

test('at most 50 exports are listed, and all are counted', () => {
  const exports = Array.from({ length: 60 }, (_, index) => `shop/web-${String(index).padStart(2, '0')}`);
  const status = statusOf({ ...fine, cluster: { ...cluster, exports } });
  assert.deepEqual([status?.exportCount, status?.exports?.length, status?.exports?.at(-1)], [60, 50, 'shop/web-49']);
});
