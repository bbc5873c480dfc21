// The multi-cluster controller is killed, stopped, or paused with everything else, while a client calls an imported Service:
// no call fails, and no imported slice is deleted or written again. Every cluster, controller and Pod is a process.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../src/server/testing/until.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { FairleadProcess } from '../harness/process.ts';
import { Caller, callMs } from './caller.ts';
import type { SetCluster } from './set.ts';
import { startPlaces } from './set.ts';
import { SliceEvents } from './slice-events.ts';

const sourceLeaseMs = 16_000;
const times = [
  `--source-lease-duration=${sourceLeaseMs / 1000}s`,
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
];
const places = [
  { id: 'east', region: 'eu', zone: 'eu-1' },
  { id: 'west', region: 'eu', zone: 'eu-2' },
];
const name = 'web.shop.svc.supercluster.local';

/** The clusters, of which west imports `web` from east, and the controllers. */
class Stand {
  readonly west: SetCluster;
  readonly clusters: readonly SetCluster[];
  readonly #flags: readonly string[];
  readonly #stack: AsyncDisposableStack;
  controllers: FairleadProcess[] = [];

  private constructor(clusters: readonly SetCluster[], flags: readonly string[], stack: AsyncDisposableStack) {
    const [, west] = clusters;
    assert.ok(west);
    this.west = west;
    this.clusters = clusters;
    this.#flags = flags;
    this.#stack = stack;
  }

  static async start(stack: AsyncDisposableStack, settings: Readonly<Record<string, object>> = {}): Promise<Stand> {
    const { clusters, flags } = await startPlaces(places, stack, settings);
    const stand = new Stand(clusters, flags, stack);
    await stand.startController();
    const [east] = clusters;
    await east?.serve('web');
    await east?.export('web');
    await until('the Service is imported', async () => (await stand.west.curl(name)) === 'east');
    await until('its source has a lease', async () => (await stand.renewal()).holder !== '');
    return stand;
  }

  async startController(): Promise<void> {
    const controller = this.#stack.use(new FairleadProcess(['multicluster', ...this.#flags, ...times]));
    await controller.ready();
    this.controllers.push(controller);
  }

  /** Kills all controllers but the last, which then becomes the leader. */
  async endFirst(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.controllers.shift()?.stop(signal);
  }

  /** The holder and time of the last renewal of the lease of east in west. */
  async renewal(): Promise<{ readonly holder: string; readonly atMs: number }> {
    const lease = { namespace: 'kube-system', name: 'multicluster-source-east' };
    const { holderIdentity = '', renewTime = '' } = (await this.west.client.find(leaseKind, lease))?.spec ?? {};
    return { holder: holderIdentity, atMs: Date.parse(renewTime) };
  }

  /** Calls continuously during `happen`, and until leases that were not renewed would have expired. */
  async undisturbed(happen: () => Promise<void>, { isPause = false } = {}): Promise<void> {
    const { holder } = await this.renewal();
    await using events = await SliceEvents.start(this.west.client);
    await using caller = new Caller(`http://${await this.west.resolve(name)}:8080/`);
    await until('calls succeed', async () => caller.calls.length > 10);
    const began = performance.now();
    await happen();
    const ended = performance.now();
    const longAfter = Date.now() + sourceLeaseMs;
    await until('leases are renewed, by another controller if one took over', async () => {
      const now = await this.renewal();
      return now.atMs > longAfter && (now.holder !== holder || isPause);
    });
    assert.equal(await this.west.curl(name), 'east');
    // The proxy cannot answer while it is paused itself.
    const failed = caller.errors.filter(({ atMs }) => !isPause || atMs < began - callMs || atMs > ended);
    assert.equal(failed.length, 0, `of ${caller.calls.length} calls`);
    assert.equal(events.deletions, 0, 'deletions of slices');
    assert.ok(events.writes <= 1, `${events.writes} writes of slices`);
  }
}

const pidsOf = ({ clusters, controllers }: Stand): readonly number[] =>
  [...clusters, ...controllers].map(({ pid }) => pid);

/** The cgroup freezer: a hierarchy of its own (version 1), or part of every group (version 2). */
const freezers = [
  { root: '/sys/fs/cgroup/freezer', file: 'freezer.state', frozen: 'FROZEN', thawed: 'THAWED' },
  { root: '/sys/fs/cgroup', file: 'cgroup.freeze', frozen: '1', thawed: '0' },
];

/** Freezes processes for a duration in a cgroup of their own. */
async function frozen(pids: readonly number[], ms: number, { root, file, frozen: on, thawed }: (typeof freezers)[0]) {
  const group = join(root, `fairlead-test-${process.pid}`);
  await mkdir(group);
  for (const pid of pids) await writeFile(join(group, 'cgroup.procs'), `${pid}`);
  try {
    await writeFile(join(group, file), on);
    await delay(ms);
  } finally {
    await writeFile(join(group, file), thawed);
    for (const pid of pids) await writeFile(join(root, 'cgroup.procs'), `${pid}`);
    await rmdir(group);
  }
}

async function stopped(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await delay(ms);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
}

describe('a controller that stops', { skip: unlessInstalled('curl', 'dig') }, () => {
  const stack = new AsyncDisposableStack();
  let stand: Stand;
  before(async () => (stand = await Stand.start(stack)));
  after(() => stack.disposeAsync());

  test('killed, with a standby: no call fails and no slice is deleted', async () => {
    await stand.startController();
    await stand.undisturbed(() => stand.endFirst('SIGKILL'));
  });

  test('killed, without a standby, and restarted at once: no call fails and no slice is deleted', async () => {
    await stand.undisturbed(async () => {
      await stand.endFirst('SIGKILL');
      await stand.startController();
    });
  });

  test('SIGTERM, with a standby: the standby takes over before the lease expires', async () => {
    await stand.startController();
    await stand.undisturbed(() => stand.endFirst('SIGTERM'));
  });

  test('paused with all servers, reapers and proxies for longer than a lease: nothing is deleted afterwards', async () => {
    await stand.undisturbed(() => stopped(pidsOf(stand), sourceLeaseMs + 4000), { isPause: true });
  });

  const freezer = freezers.find(({ root, file }) => existsSync(join(root, root.endsWith('freezer') ? 'tasks' : file)));
  const noFreezer = freezer === undefined ? 'no cgroup freezer here' : false;
  test('frozen with all of them in a cgroup: nothing is deleted afterwards', { skip: noFreezer }, async () => {
    if (freezer === undefined) return;
    await stand.undisturbed(() => frozen(pidsOf(stand), sourceLeaseMs + 4000, freezer), { isPause: true });
  });
});

describe('a controller that never comes back', { skip: unlessInstalled('curl', 'dig') }, () => {
  const stack = new AsyncDisposableStack();
  after(() => stack.disposeAsync());

  test('nothing is deleted where reapers freeze, also when the controller returns', async () => {
    const stand = await Stand.start(stack, { reaper: { 'on-controller-loss': 'Freeze' } });
    await stand.undisturbed(async () => {
      await stand.endFirst('SIGKILL');
      await delay(sourceLeaseMs + 4000);
      await stand.startController();
    });
  });
});
