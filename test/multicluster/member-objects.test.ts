// Members as objects: `fairlead mcs join` and `leave`, and what the controller writes about its members.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { secretKind } from '../../src/api/kinds/core/secret/kind.ts';
import { serviceAccountKind } from '../../src/api/kinds/core/serviceaccount/kind.ts';
import { clusterMemberKind } from '../../src/api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../src/api/kinds/multicluster/clustermember/schema.ts';
import { roleKind } from '../../src/api/kinds/rbac/role/kind.ts';
import { clusterRoleKind } from '../../src/api/kinds/rbac/clusterrole/kind.ts';
import { Client } from '../../src/client/client.ts';
import type { Clock } from '../../src/client/clock.ts';
import { systemClock } from '../../src/client/clock.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { startMulticluster } from '../../src/multicluster/multicluster.ts';
import { until } from '../../src/server/testing/until.ts';
import { run } from '../../src/cli/run.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { quickProbes } from './clusters.ts';
import { startWithKubeconfig } from './started.ts';

const namespace = 'fairlead-system';

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe('members are objects', () => {
  const stack = new AsyncDisposableStack();
  let [directory, kubeconfig] = ['', ''];
  const clients = new Map<string, Client>();
  const at = (cluster: string): Client => clients.get(cluster) ?? assert.fail(cluster);
  const mcs = async (...args: readonly string[]): Promise<Result> => {
    const printed: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const streams = { out: (text: string) => printed.out.push(text), err: (text: string) => printed.err.push(text) };
    const code = await run(['mcs', ...args, '--kubeconfig', kubeconfig], streams);
    return { code, out: printed.out.join(''), err: printed.err.join('') };
  };
  const member = (id: string): Promise<ClusterMember | undefined> =>
    at('west').find(clusterMemberKind, { namespace, name: id });
  const conditionsOf = async (id: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      ((await member(id))?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
    );
  const reports = (id: string, type: string, want: string): Promise<unknown> =>
    until(`${id} is ${type}=${want}`, async () => (await conditionsOf(id))[type] === want);
  const startController = async (clock: Clock): Promise<AsyncDisposable> => {
    const client = new Client(overHttps(await readKubeconfig({ paths: [kubeconfig], context: 'west' })));
    const part = startMulticluster(
      { client, log: pino({ level: 'silent' }), metrics: new Registry() },
      { objects: { namespace, userAgent: 'test' }, clock, probeTimes: quickProbes },
    );
    await part.ready;
    return part;
  };

  before(async () => {
    directory = stack.use(await temporaryDirectory()).path;
    kubeconfig = join(directory, 'kubeconfig');
    await startWithKubeconfig(['east', 'west'], kubeconfig, stack);
    for (const context of ['east', 'west'])
      clients.set(context, stack.use(new Client(overHttps(await readKubeconfig({ paths: [kubeconfig], context })))));
  });
  after(() => stack.disposeAsync());

  test('join creates the account, the Secret and the ClusterMember, and repeats without harm', async () => {
    for (const id of ['east', 'west', 'east']) {
      const { code, out, err } = await mcs('join', id, '--hub', 'west', '--token-duration', '10m');
      assert.deepEqual({ code, err }, { code: 0, err: '' });
      assert.match(
        out,
        new RegExp(`^${id} is a member: the controller in west uses the account fairlead-system/fairlead-member`),
      );
    }
    const account = await at('east').find(serviceAccountKind, { namespace, name: 'fairlead-member' });
    assert.equal(account?.metadata.labels?.['app.kubernetes.io/managed-by'], 'fairlead-install');
    assert.deepEqual((await member('east'))?.spec, { secretRef: { name: 'member-east' } });
  });

  test('the controller reads them, and reports about each', async () => {
    await using _ = await startController(systemClock);
    for (const id of ['east', 'west']) {
      await reports(id, 'InSync', 'True InSync');
      assert.deepEqual(await conditionsOf(id), {
        Accepted: 'True Accepted',
        CredentialsReady: 'True Valid',
        Reachable: 'True Answers',
        InSync: 'True InSync',
      });
    }
    const { status } = (await member('east')) ?? {};
    const { metadata } = await at('east').get(namespaceKind, { name: 'kube-system' });
    assert.equal(status?.clusterUID, metadata.uid);
    assert.match(status?.version ?? '', /^v1\./);
    const before = (await member('east'))?.metadata.resourceVersion;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.equal((await member('east'))?.metadata.resourceVersion, before, 'an unchanged status is not written again');
  });

  test('a token is replaced before it expires', async () => {
    const token = async (): Promise<string | undefined> =>
      (await at('west').get(secretKind, { namespace, name: 'member-east' })).data?.['kubeconfig'];
    const before = await token();
    const expires = (await member('east'))?.status?.credentialsExpireAt ?? '';
    // 70 % of ten minutes are over.
    await using _ = await startController({ ...systemClock, now: () => Date.now() + 8 * 60_000 });
    await until('the Secret has another token', async () => (await token()) !== before);
    await until(
      'the status has the new time',
      async () => ((await member('east'))?.status?.credentialsExpireAt ?? '') > expires,
    );
  });

  test('a failed renewal, a damaged and a missing Secret are reported, and the member stays', async () => {
    await at('east').delete(roleKind, { namespace, name: 'fairlead-member' });
    await using _ = await startController({ ...systemClock, now: () => Date.now() + 9 * 60_000 });
    await reports('east', 'CredentialsReady', 'False RenewalFailed');
    const secret = await at('west').get(secretKind, { namespace, name: 'member-west' });
    await at('west').patch(secretKind, { namespace, name: 'member-west' }, { body: { data: { kubeconfig: 'e30=' } } });
    await reports('west', 'CredentialsReady', 'False InvalidKubeconfig');
    await reports('west', 'Reachable', 'False NoAnswer');
    await at('west').delete(secretKind, { namespace, name: 'member-west' });
    await reports('west', 'CredentialsReady', 'False SecretNotFound');
    assert.equal((await conditionsOf('west'))['Accepted'], 'True Accepted');
    const { resourceVersion: _version, uid: _uid, ...metadata } = secret.metadata;
    await at('west').create(secretKind, { ...secret, metadata });
    await reports('west', 'CredentialsReady', 'True Valid');
    await reports('west', 'Reachable', 'True Answers');
  });

  test('a join that would fail changes nothing', async () => {
    const { code, err } = await mcs('join', 'east', '--id', 'other', '--hub', 'west');
    assert.deepEqual({ code, err }, { code: 1, err: 'fairlead: "other" is the same cluster as the member "east"\n' });
    const bad = await mcs('join', 'east', '--id', 'Not_An_Id', '--hub', 'west');
    assert.equal(bad.code, 2);
    assert.match(bad.err, /^fairlead: "Not_An_Id" cannot be the id of a cluster: /);
    const unreachable = await mcs('join', 'east', '--hub', 'west', '--server', 'https://127.0.0.1:1');
    assert.equal(unreachable.code, 1);
    assert.match(unreachable.err, /the controller could not use its account in east: .* pass --server/);
    const unknown = await mcs('leave', 'north', '--hub', 'west');
    assert.deepEqual(
      [unknown.code, unknown.err],
      [1, 'fairlead: "north" is not a member: namespace fairlead-system has east, west\n'],
    );
  });

  test('leave waits for the controller, and removes all that join created', async () => {
    assert.equal((await mcs('join', 'east', '--hub', 'west')).code, 0);
    const late = await mcs('leave', 'east', '--hub', 'west', '--timeout', '500ms');
    assert.equal(late.code, 1);
    assert.match(
      late.err,
      /^fairlead: east is leaving and not withdrawn yet: check that `fairlead multicluster` runs; run this again, or pass --force if it no longer exists$/m,
    );
    await using _ = await startController(systemClock);
    const { code, out, err } = await mcs('leave', 'east', '--hub', 'west');
    assert.deepEqual(
      { code, out, err },
      {
        code: 0,
        out: 'east has left; its exports were withdrawn and its imports deleted; the account of the controller there is deleted\n',
        err: '',
      },
    );
    assert.equal(await at('west').find(secretKind, { namespace, name: 'member-east' }), undefined);
    assert.equal(await at('east').find(clusterRoleKind, { name: 'fairlead-member' }), undefined);
    await until(
      'the namespace is deleted',
      async () => (await at('east').find(namespaceKind, { name: namespace })) === undefined,
    );
    const forced = await mcs('leave', 'west', '--hub', 'west', '--force');
    assert.equal(forced.code, 0, forced.err);
  });

  test('import-members moves the members of a file', async () => {
    const file = join(directory, 'members.yaml');
    const members = ['east', 'west'].map((id) => ({ id, context: id, kubeconfig: kubeconfig, maxExports: 5 }));
    await writeFile(file, JSON.stringify({ superclusterCIDRs: ['241.0.0.0/16'], members }));
    const { code, out, err } = await mcs('import-members', file, '--hub', 'west');
    assert.deepEqual(
      { code, out, err },
      {
        code: 0,
        out: 'east is a ClusterMember of namespace fairlead-system\nwest is a ClusterMember of namespace fairlead-system\n',
        err: '',
      },
    );
    assert.deepEqual((await member('east'))?.spec, {
      secretRef: { name: 'member-east' },
      superclusterCIDRs: ['241.0.0.0/16'],
      maxExports: 5,
    });
    await using _ = await startController(systemClock);
    for (const id of ['east', 'west']) await reports(id, 'InSync', 'True InSync');
    const listed = await mcs('list', '--hub', 'west');
    assert.deepEqual([listed.code, listed.out], [0, 'ID    STATE  REASON\neast  ready\nwest  ready\n'], listed.err);
    const again = await mcs('import-members', file, '--hub', 'west');
    assert.match(again.err, /"east" is a ClusterMember already; nothing was changed/);
  });
});
