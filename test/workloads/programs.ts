// Programs that run workloads: ours, and those of Kubernetes.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import type { Client } from '../../src/client/client.ts';
import { root } from '../harness/process.ts';
import { defineDeviceKinds, schedulerConfig } from './kube-scheduler.ts';

/** The paths of kube-controller-manager and kube-scheduler, if variables name them. */
export function findPeers(): { readonly manager: string; readonly scheduler: string } | undefined {
  const { KUBE_CONTROLLER_MANAGER: manager, KUBE_SCHEDULER: scheduler } = process.env;
  return manager === undefined || scheduler === undefined ? undefined : { manager, scheduler };
}

/** Running programs. */
export interface Programs extends AsyncDisposable {
  readonly pids: readonly number[];
}

function started(commands: readonly (readonly string[])[]): Programs {
  const children = commands.map(([file = '', ...args]): ChildProcess => spawn(file, args, { stdio: 'ignore' }));
  return {
    pids: children.map(({ pid = 0 }) => pid),
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
    },
  };
}

/** Our controllers and scheduler as a process. */
export const startOurs = (kubeconfig: string): Programs =>
  started([
    [
      process.execPath,
      join(root, 'bin', 'fairlead.js'),
      'controllers',
      '--kubeconfig',
      kubeconfig,
      '--controllers=*,workloads',
      '--leader-elect=false',
      '--health-port=0',
    ],
  ]);

const controllers = [
  'deployment-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'cronjob-controller',
  'ttl-after-finished-controller',
  'pod-garbage-collector-controller',
  'disruption-controller',
  'garbage-collector-controller',
  'endpointslice-controller',
  'endpoints-controller',
];

/** kube-controller-manager and kube-scheduler, without their limits on requests. */
export async function startPeers(
  {
    kubeconfig,
    directory,
    client,
  }: { readonly kubeconfig: string; readonly directory: string; readonly client: Client },
  { manager, scheduler }: { readonly manager: string; readonly scheduler: string },
): Promise<Programs> {
  await defineDeviceKinds(client);
  const config = await schedulerConfig(directory, kubeconfig);
  const common = ['--secure-port=0', '--authentication-skip-lookup=true'];
  const limits = ['--kube-api-qps=100000', '--kube-api-burst=100000', '--leader-elect=false'];
  return started([
    [manager, `--kubeconfig=${kubeconfig}`, `--controllers=${controllers.join()}`, ...limits, ...common],
    [scheduler, `--config=${config}`, ...common],
  ]);
}
