import { test } from 'node:test';
import { pino } from 'pino';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { MemberInMemory } from '../testing/member.ts';
import type { KnownMember } from './member-objects.ts';
import type { ReportedSet } from './reporter.ts';
import { memberFinalizer, Reporter } from './reporter.ts';

const name = { namespace: 'sets', name: 'east' };

/** A server with one ClusterMember, and a reporter that runs until the stack is disposed of. */
async function start(stack: AsyncDisposableStack, given: Partial<ReportedSet>) {
  const server = stack.use(await testServer());
  const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const client = new Client(inProcess((request) => server.handle({ ...request, user })));
  await client.create(namespaceKind, { metadata: { name: 'sets' }, spec: {}, status: {} });
  await client.create(clusterMemberKind, { metadata: name, spec: { secretRef: { name: 'east' } } });
  const stop = new AbortController();
  const clock = new ManualClock();
  const known = new Map<string, KnownMember>();
  const read = async (): Promise<ClusterMember | undefined> => {
    const object = await client.find(clusterMemberKind, name);
    known.clear();
    const problem = { reason: 'SecretNotFound', message: 'Secret sets/east does not exist' } as const;
    if (object !== undefined)
      known.set('east', { object, access: { problem }, usable: undefined, invalid: undefined, entry: undefined });
    return object;
  };
  await read();
  const member = new MemberInMemory('east').member;
  const set: ReportedSet = {
    known,
    member: () => member,
    rejection: () => undefined,
    waiting: () => 0,
    overlap: () => undefined,
    gatewayProblem: () => undefined,
    drain: () => ({ kept: [], pending: [] }),
    withdraw: async () => false,
    ...given,
  };
  const running = new Reporter({ client, log: pino({ level: 'silent' }), clock, set, probeMs: 5000 }).run(stop.signal);
  stack.defer(async () => {
    stop.abort();
    await running;
  });
  /** Runs rounds until the object is as wanted. */
  const becomes = (what: string, isIt: (object: ClusterMember | undefined) => boolean): Promise<unknown> =>
    until(what, async () => {
      const object = await read();
      if (isIt(object)) return true;
      await clock.advance(2000);
      return undefined;
    });
  return { client, becomes };
}

const has = (object: ClusterMember | undefined): boolean =>
  object?.metadata.finalizers?.includes(memberFinalizer) ?? false;

test('a member gets a finalizer and a status, and a deleted one stays until it is withdrawn', async () => {
  await using stack = new AsyncDisposableStack();
  let isWithdrawn = false;
  const { client, becomes } = await start(stack, { withdraw: async () => isWithdrawn });
  await becomes('it has the finalizer', has);
  await becomes(
    'it has a status',
    (object) => object?.status?.conditions?.some(({ reason }) => reason === 'SecretNotFound') === true,
  );
  await client.delete(clusterMemberKind, name);
  await becomes('it reports that it is being deleted', (object) => object?.metadata.deletionTimestamp !== undefined);
  isWithdrawn = true;
  await becomes('it is gone', (object) => object === undefined);
});

test('a deleted member that did not take part is let go at once', async () => {
  await using stack = new AsyncDisposableStack();
  const problems: { readonly reason: string; readonly message: string }[] = [];
  const { client, becomes } = await start(stack, { rejection: () => problems[0] });
  await becomes('it has the finalizer', has);
  problems.push({ reason: 'IdentityConflict', message: 'east and west are one cluster: remove one of them' });
  await becomes(
    'the status has the reason',
    (object) =>
      object?.status?.conditions?.some(({ type, reason }) => type === 'Accepted' && reason === 'IdentityConflict') ===
      true,
  );
  await client.delete(clusterMemberKind, name);
  await becomes('it is gone', (object) => object === undefined);
});
