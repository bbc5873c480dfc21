// Runs the same steps with our controllers and with kube-controller-manager and kube-scheduler on our server: the objects and
// Events that they leave are the same. KUBE_CONTROLLER_MANAGER and KUBE_SCHEDULER name the programs.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { daemonSetKind } from '../../src/api/kinds/apps/daemonset/kind.ts';
import { deploymentKind } from '../../src/api/kinds/apps/deployment/kind.ts';
import { statefulSetKind } from '../../src/api/kinds/apps/statefulset/kind.ts';
import { jobKind } from '../../src/api/kinds/batch/job/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { podKind } from '../../src/api/kinds/core/pod/kind.ts';
import type { Pod } from '../../src/api/kinds/core/pod/schema.ts';
import { replicationControllerKind } from '../../src/api/kinds/core/replicationcontroller/kind.ts';
import { podDisruptionBudgetKind } from '../../src/api/kinds/policy/poddisruptionbudget/kind.ts';
import type { Kind } from '../../src/api/kind.ts';
import type { ApiObject } from '../../src/api/metadata.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Fate } from '../../src/controllers/testing/agent.ts';
import { readyNode, startAgent } from '../../src/controllers/testing/agent.ts';
import { until } from '../../src/server/testing/until.ts';
import { FairleadServer } from '../harness/server.ts';
import { endState } from './end-state.ts';
import type { Programs } from './programs.ts';
import { findPeers, startOurs, startPeers } from './programs.ts';

/** A namespace in which a scenario runs. */
interface Stage {
  readonly client: Client;
  readonly namespace: string;
  readonly create: (kind: Kind, name: string, spec: object) => Promise<void>;
  readonly patch: (kind: Kind, name: string, body: object) => Promise<void>;
  /** Waits for a status; fields that are not given do not matter, and undefined ones are absent. */
  readonly status: (kind: Kind, name: string, want: Readonly<Record<string, unknown>>) => Promise<void>;
}

interface Scenario {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

const labels = { app: 'web' };
const template = (image = 'web:1', spec: object = {}): object => ({
  metadata: { labels },
  spec: { containers: [{ name: 'web', image }], ...spec },
});
const selected = (spec: object = {}, image = 'web:1'): object => ({
  selector: { matchLabels: labels },
  template: template(image),
  ...spec,
});
const once = { restartPolicy: 'Never' };
const task = (image: string, spec: object = {}): object => ({
  template: { spec: { ...once, containers: [{ name: 'web', image }] } },
  ...spec,
});

/** What the simulated agent does with an image. */
function fateOf({ spec, metadata }: Pod): Fate {
  const image = spec.containers?.[0]?.image;
  if (image === 'broken') return 'unready';
  if (image === 'fails') return 'fail';
  if (image === 'succeeds') return 'succeed';
  if (image === 'odd-fail')
    return metadata.annotations?.['batch.kubernetes.io/job-completion-index'] === '1' ? 'fail' : 'succeed';
  return 'ready';
}

const done = (replicas: number): Readonly<Record<string, unknown>> => ({
  replicas,
  updatedReplicas: replicas,
  availableReplicas: replicas,
  unavailableReplicas: undefined,
});

const scenarios: readonly Scenario[] = [
  {
    name: 'a rollout and a rollback',
    async run({ create, patch, status }) {
      await create(deploymentKind, 'web', selected({ replicas: 4 }));
      await status(deploymentKind, 'web', { ...done(4), observedGeneration: 1 });
      await patch(deploymentKind, 'web', { spec: { template: template('web:2') } });
      await status(deploymentKind, 'web', { ...done(4), observedGeneration: 2 });
      await patch(deploymentKind, 'web', { spec: { template: template('web:1') } });
      await status(deploymentKind, 'web', { ...done(4), observedGeneration: 3 });
    },
  },
  {
    name: 'a rollout that does not progress',
    async run({ create, patch, status }) {
      await create(deploymentKind, 'web', selected({ replicas: 4, progressDeadlineSeconds: 5 }));
      await status(deploymentKind, 'web', { ...done(4), observedGeneration: 1 });
      await patch(deploymentKind, 'web', { spec: { template: template('broken') } });
      await status(deploymentKind, 'web', {
        observedGeneration: 2,
        updatedReplicas: 2,
        unavailableReplicas: 2,
        'Progressing.reason': 'ProgressDeadlineExceeded',
      });
    },
  },
  {
    name: 'scaling in the middle of a rollout',
    async run({ create, patch, status }) {
      await create(
        deploymentKind,
        'web',
        selected({ replicas: 10, strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } }),
      );
      await status(deploymentKind, 'web', { ...done(10), observedGeneration: 1 });
      await patch(deploymentKind, 'web', { spec: { template: template('broken') } });
      await status(deploymentKind, 'web', { updatedReplicas: 5, availableReplicas: 8 });
      await patch(deploymentKind, 'web', { spec: { replicas: 30 } });
      await status(deploymentKind, 'web', { observedGeneration: 3, replicas: 33 });
      await patch(deploymentKind, 'web', { spec: { replicas: 5 } });
      await status(deploymentKind, 'web', { observedGeneration: 4, replicas: 8 });
    },
  },
  {
    name: 'a paused Deployment that is scaled and resumed',
    async run({ create, patch, status }) {
      await create(deploymentKind, 'web', selected({ replicas: 2, strategy: { type: 'Recreate' } }));
      await status(deploymentKind, 'web', { ...done(2), observedGeneration: 1 });
      await patch(deploymentKind, 'web', { spec: { paused: true } });
      await status(deploymentKind, 'web', { observedGeneration: 2, 'Progressing.reason': 'DeploymentPaused' });
      await patch(deploymentKind, 'web', { spec: { template: template('web:2') } });
      await patch(deploymentKind, 'web', { spec: { replicas: 3 } });
      await status(deploymentKind, 'web', { observedGeneration: 4, replicas: 3, availableReplicas: 3 });
      await patch(deploymentKind, 'web', { spec: { paused: null } });
      await status(deploymentKind, 'web', { ...done(3), observedGeneration: 5 });
    },
  },
  {
    name: 'a StatefulSet that is updated and scaled',
    async run({ create, patch, status }) {
      await create(statefulSetKind, 'web', selected({ replicas: 3, serviceName: 'web' }));
      await status(statefulSetKind, 'web', { readyReplicas: 3, currentReplicas: 3, observedGeneration: 1 });
      await patch(statefulSetKind, 'web', { spec: { template: template('web:2') } });
      await status(statefulSetKind, 'web', {
        readyReplicas: 3,
        updatedReplicas: 3,
        currentReplicas: 3,
        observedGeneration: 2,
      });
      await patch(statefulSetKind, 'web', { spec: { replicas: 1 } });
      await status(statefulSetKind, 'web', {
        replicas: 1,
        readyReplicas: 1,
        currentReplicas: 1,
        observedGeneration: 3,
      });
    },
  },
  {
    name: 'a StatefulSet with a partition and the policy Parallel',
    async run({ create, patch, status }) {
      const updateStrategy = { rollingUpdate: { partition: 1 } };
      await create(
        statefulSetKind,
        'web',
        selected({ replicas: 3, serviceName: 'web', podManagementPolicy: 'Parallel', updateStrategy }),
      );
      await status(statefulSetKind, 'web', { readyReplicas: 3, observedGeneration: 1 });
      await patch(statefulSetKind, 'web', { spec: { template: template('web:2') } });
      await status(statefulSetKind, 'web', {
        readyReplicas: 3,
        updatedReplicas: 2,
        currentReplicas: 1,
        observedGeneration: 2,
      });
    },
  },
  {
    name: 'a DaemonSet that is updated',
    async run({ create, patch, status }) {
      await create(daemonSetKind, 'web', selected());
      await status(daemonSetKind, 'web', { numberAvailable: 3, observedGeneration: 1 });
      await patch(daemonSetKind, 'web', { spec: { template: template('web:2') } });
      await status(daemonSetKind, 'web', { numberAvailable: 3, updatedNumberScheduled: 3, observedGeneration: 2 });
    },
  },
  {
    name: 'a DaemonSet whose update stops',
    async run({ create, patch, status }) {
      await create(daemonSetKind, 'web', selected());
      await status(daemonSetKind, 'web', { numberAvailable: 3, observedGeneration: 1 });
      await patch(daemonSetKind, 'web', { spec: { template: template('broken') } });
      await status(daemonSetKind, 'web', {
        numberAvailable: 2,
        numberUnavailable: 1,
        updatedNumberScheduled: 1,
        observedGeneration: 2,
      });
    },
  },
  {
    name: 'a Job with completions',
    async run({ create, status }) {
      await create(jobKind, 'web', task('succeeds', { completions: 4, parallelism: 2 }));
      await status(jobKind, 'web', { succeeded: 4, 'Complete.status': 'True' });
    },
  },
  {
    name: 'a Job that fails',
    async run({ create, status }) {
      await create(jobKind, 'web', task('fails', { backoffLimit: 0 }));
      await status(jobKind, 'web', { failed: 1, 'Failed.status': 'True' });
    },
  },
  {
    name: 'an indexed Job with a limit per index',
    async run({ create, status }) {
      await create(
        jobKind,
        'web',
        task('odd-fail', { completions: 3, parallelism: 3, completionMode: 'Indexed', backoffLimitPerIndex: 0 }),
      );
      await status(jobKind, 'web', { completedIndexes: '0,2', failedIndexes: '1', 'Failed.status': 'True' });
    },
  },
  {
    name: 'a suspended Job',
    async run({ create, patch, status }) {
      await create(jobKind, 'web', task('web:1', { suspend: true }));
      await status(jobKind, 'web', { 'Suspended.status': 'True' });
      await patch(jobKind, 'web', { spec: { suspend: false } });
      await status(jobKind, 'web', { ready: 1, active: 1 });
    },
  },
  {
    name: 'a ReplicationController and budgets',
    async run({ create, status }) {
      await create(replicationControllerKind, 'web', { replicas: 3, selector: labels, template: template() });
      await status(replicationControllerKind, 'web', { readyReplicas: 3, availableReplicas: 3, observedGeneration: 1 });
      await create(podDisruptionBudgetKind, 'absolute', { selector: { matchLabels: labels }, minAvailable: 1 });
      await create(podDisruptionBudgetKind, 'relative', { selector: { matchLabels: labels }, maxUnavailable: '50%' });
      await status(podDisruptionBudgetKind, 'absolute', { disruptionsAllowed: 2, expectedPods: 3 });
      await status(podDisruptionBudgetKind, 'relative', { disruptionsAllowed: 2, expectedPods: 3 });
    },
  },
  {
    name: 'orphans that are adopted, and a Pod that is released',
    async run({ client, namespace, create, status }) {
      await client.create(podKind, {
        metadata: { namespace, name: 'orphan', labels },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      } as unknown as Pod);
      await create(
        deploymentKind,
        'other',
        selected({
          replicas: 1,
          selector: { matchLabels: { app: 'other' } },
          template: { metadata: { labels: { app: 'other' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
        }),
      );
      await status(deploymentKind, 'other', done(1));
      await create(replicationControllerKind, 'web', { replicas: 2, selector: labels, template: template() });
      await status(replicationControllerKind, 'web', { readyReplicas: 2 });
      await client.patch(
        podKind,
        { namespace, name: 'orphan' },
        { body: { metadata: { labels: { app: 'released' } } } },
      );
      await until('the Pod is released', async () => {
        const pod = await client.get(podKind, { namespace, name: 'orphan' });
        return pod.metadata.ownerReferences === undefined;
      });
      await status(replicationControllerKind, 'web', { replicas: 2, readyReplicas: 2 });
    },
  },
  {
    name: 'a Pod that fits no node',
    async run({ client, namespace }) {
      const spec = { nodeSelector: { disk: 'none' }, containers: [{ name: 'web', image: 'web:1' }] };
      await client.create(podKind, { metadata: { namespace, name: 'web' }, spec } as unknown as Pod);
      await until('it is unschedulable', async () => {
        const { status } = await client.get(podKind, { namespace, name: 'web' });
        return status.conditions?.some(({ reason }) => reason === 'Unschedulable') === true;
      });
    },
  },
];

type Statuses = ApiObject & { readonly status?: Readonly<Record<string, unknown>> };

function stageOf(client: Client, namespace: string): Stage {
  return {
    client,
    namespace,
    async create(kind, name, spec) {
      await client.create(kind, { metadata: { namespace, name }, spec } as ApiObject);
    },
    async patch(kind, name, body) {
      await client.patch(kind, { namespace, name }, { body });
    },
    async status(kind, name, want) {
      let last: unknown;
      await until(`${kind.kind} ${name}: ${JSON.stringify(want)}`, async () => {
        const { status = {} } = (await client.get(kind, { namespace, name })) as Statuses;
        last = status;
        return Object.entries(want).every(([path, value]) => valueAt(status, path) === value);
      }).catch((error: unknown) => assert.fail(`${String(error)}: ${JSON.stringify(last)}`));
    },
  };
}

/** A field of a status, or of one of its conditions: `Available.reason`. */
function valueAt(status: Readonly<Record<string, unknown>>, path: string): unknown {
  const [type, field] = path.split('.');
  if (field === undefined) return status[path];
  const conditions = status['conditions'] as readonly Readonly<Record<string, string>>[] | undefined; // of any status
  return conditions?.find((each) => each['type'] === type)?.[field];
}

const peers = findPeers();
const skip = peers === undefined && 'KUBE_CONTROLLER_MANAGER and KUBE_SCHEDULER are not set';

/** The end state of each scenario, or the error with which it failed. */
async function play(
  start: (server: FairleadServer, client: Client) => Programs | Promise<Programs>,
): Promise<readonly (readonly string[])[]> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await FairleadServer.start(['--store', 'memory']));
  const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
  for (const node of ['n1', 'n2', 'n3']) await readyNode(client, node, { cpu: '64' });
  stack.use(startAgent({ client, fate: fateOf }));
  stack.use(await start(server, client));
  // Awaited here, since the programs stop when this function returns.
  return await Promise.all(
    scenarios.map(async ({ run }, index) => {
      const namespace = `scenario-${index}`;
      await client.create(namespaceKind, { metadata: { name: namespace } } as ApiObject);
      try {
        await run(stageOf(client, namespace));
      } catch (error) {
        return [String(error)];
      }
      // Nothing changes any more when two looks are equal.
      let last: readonly string[] = [];
      await until('a steady state', async () => {
        const before = last;
        await new Promise((resolve) => setTimeout(resolve, 1500));
        last = await endState(client, namespace);
        return JSON.stringify(before) === JSON.stringify(last);
      });
      return last;
    }),
  );
}

describe('our controllers and those of Kubernetes leave the same objects and Events', { skip }, () => {
  let [ours, theirs]: (readonly (readonly string[])[])[] = [[], []];
  before(async () => {
    if (peers === undefined) return;
    ours = await play(({ kubeconfig }) => startOurs(kubeconfig));
    theirs = await play(({ kubeconfig, directory }, client) => startPeers({ kubeconfig, directory, client }, peers));
  });
  for (const [index, { name }] of scenarios.entries()) {
    test(name, () => {
      assert.deepEqual(ours?.[index], theirs?.[index]);
      assert.doesNotMatch(ours?.[index]?.join('\n') ?? '', /^\w*Error/);
    });
  }
});
