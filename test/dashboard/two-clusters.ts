// Two clusters as separate processes, so that one of them can be killed, joined by a multi-cluster controller, and a
// dashboard of both.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort } from '../../src/server/testing/free-port.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess } from '../harness/process.ts';
import { storeFlags } from '../harness/store.ts';
import { pageAddress } from './browser.ts';

/** The clusters east and west, and the address of their dashboard. */
export interface TwoClusters extends AsyncDisposable {
  readonly url: string;
  /** Runs kubectl in a cluster, and returns its output. */
  readonly kubectl: (cluster: 'east' | 'west', args: readonly string[], input?: string) => Promise<string>;
  /** The exit code of `fairlead status`, and what it prints. */
  readonly status: () => Promise<{ readonly code: number | null; readonly out: string }>;
  readonly killEast: () => Promise<void>;
  readonly startEast: () => Promise<void>;
}

/** West simulates a cloud whose load balancers serve one protocol each. */
const configOf = { east: '{}', west: 'loadbalancer: { simulate: gce }' } as const;

/** Starts everything. */
export async function startTwoClusters(): Promise<TwoClusters> {
  await using unlessReady = new AsyncDisposableStack();
  const owned = unlessReady.use(new AsyncDisposableStack());
  const { path } = owned.use(await temporaryDirectory());
  const [{ path: program } = { path: '' }] = await findKubectls();
  const start = async (...args: readonly string[]): Promise<FairleadProcess> => {
    const process = owned.use(new FairleadProcess([...args, '--log-level', 'error'], { env: { KUBECONFIG } }));
    await process.ready();
    return process;
  };
  const directories = { east: join(path, 'east'), west: join(path, 'west') };
  const KUBECONFIG = Object.values(directories)
    .map((directory) => join(directory, 'kubeconfig'))
    .join(':');
  const up = async (name: 'east' | 'west', index: number): Promise<() => Promise<FairleadProcess>> => {
    const config = join(path, `${name}.yaml`);
    await writeFile(config, configOf[name]);
    const flags = ['--cluster', name, '--data-dir', directories[name], '--config', config];
    const range = ['--service-cluster-ip-range', `127.${64 + index}.0.0/16`];
    const parts = ['--parts', 'server,controllers,loadbalancer', '--port-base', String(await freePort())];
    return () => start('up', ...flags, ...range, ...parts, ...storeFlags(directories[name], flags));
  };
  const startEast = await up('east', 0);
  const [east] = await Promise.all([startEast(), up('west', 1).then((startWest) => startWest())]);
  let running = east;
  const members = join(path, 'members.json');
  await writeFile(
    members,
    JSON.stringify({
      members: Object.entries(directories).map(([id, directory], index) => ({
        id,
        context: id,
        kubeconfig: join(directory, 'kubeconfig'),
        superclusterCIDRs: [`127.${128 + index}.0.0/16`],
        endpointCIDRs: [`127.${192 + index}.0.0/16`],
      })),
    }),
  );
  const [, dashboard] = await Promise.all([
    start('multicluster', '--members', members, '--context', 'west', '--health-port', '0'),
    start('dashboard', '--listen', '127.0.0.1:0', '--health-port', '0'),
  ]);
  unlessReady.move();
  return {
    url: pageAddress(dashboard.out),
    async kubectl(cluster, args, input = '') {
      const kubeconfig = join(directories[cluster], 'kubeconfig');
      const { code, out, err } = await run(program, ['--kubeconfig', kubeconfig, ...args], { input });
      assert.equal(code, 0, err);
      return out;
    },
    async status() {
      await using command = new FairleadProcess(['status'], { env: { KUBECONFIG } });
      return { code: await command.ended(), out: command.out };
    },
    killEast: () => running.stop('SIGKILL'),
    async startEast() {
      running = await startEast();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
