import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { limitsOf } from './sets.ts';
import { planDeployment } from './plan.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const templateOf = (image: string): object => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image }] },
});

interface Settings {
  readonly replicas: number;
  readonly image: string;
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
}

const deploymentOf = ({ replicas, image, maxSurge = '25%', maxUnavailable = '25%' }: Settings): Deployment =>
  // Only the fields that the plan reads.
  ({
    metadata: { namespace: 'shop', name: 'web', uid: 'u', generation: 1 },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
      template: templateOf(image),
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 2,
    },
    status: {},
  }) as unknown as Deployment;

test('percentages of a surge are rounded up, and those of unavailable Pods down', () => {
  const of = (replicas: number, maxSurge: number | string, maxUnavailable: number | string): readonly number[] => {
    const limits = limitsOf(deploymentOf({ replicas, image: 'web:1', maxSurge, maxUnavailable }));
    return [limits.maxSurge, limits.maxUnavailable];
  };
  assert.deepEqual(of(10, '25%', '25%'), [3, 2]);
  assert.deepEqual(of(1, '25%', '25%'), [1, 0]);
  assert.deepEqual(of(3, 0, '10%'), [0, 1], 'a rollout needs one of the two');
  assert.deepEqual(of(2, 0, 5), [0, 2]);
});

test('revisions are integers of 64 bits, and other texts count as none', () => {
  const revisionAfter = (text: string): string | undefined => {
    const simulation = new Simulation({ replicas: 1, image: 'web:1' });
    simulation.sync();
    simulation.sets = simulation.sets.map((set) => {
      const annotations = { ...set.metadata.annotations, 'deployment.kubernetes.io/revision': text };
      return { ...set, metadata: { ...set.metadata, annotations } };
    });
    simulation.change({ replicas: 1, image: 'web:2' });
    simulation.sync();
    return simulation.deployment.metadata.annotations?.['deployment.kubernetes.io/revision'];
  };
  assert.equal(revisionAfter('3546343826724305832'), '3546343826724305833');
  for (const text of ['9223372036854775808', '12 ', 'x', '']) assert.equal(revisionAfter(text), '1');
});

/** A cluster in which Pods of `broken` images never become available. */
class Simulation {
  deployment: Deployment;
  sets: ReplicaSet[] = [];
  readonly #isBroken: (image: string) => boolean;

  constructor(settings: Settings, isBroken: (image: string) => boolean = () => false) {
    this.deployment = deploymentOf(settings);
    this.#isBroken = isBroken;
  }

  change(settings: Settings): void {
    const generation = (this.deployment.metadata.generation ?? 0) + 1;
    const { metadata, status } = this.deployment;
    this.deployment = { ...deploymentOf(settings), metadata: { ...metadata, generation }, status };
  }

  /** One sync; whether it changed anything. */
  sync(): boolean {
    const plan = planDeployment({ deployment: this.deployment, sets: this.sets, pods: () => [], now });
    if (plan.create !== undefined) {
      const name = plan.create.metadata.name ?? '';
      const metadata = { ...plan.create.metadata, uid: name, creationTimestamp: stamp(this.sets.length) };
      this.sets.push({ ...plan.create, metadata });
    }
    for (const { set } of plan.update) this.#replace(set);
    this.sets = this.sets.filter(({ metadata }) => !plan.remove.some((each) => each.metadata.uid === metadata.uid));
    if (plan.deployment !== undefined) this.deployment = plan.deployment;
    const { create, update, remove, deployment } = plan;
    return create !== undefined || update.length + remove.length > 0 || deployment !== undefined;
  }

  /** The Pods of one ReplicaSet follow its size. */
  run(index: number): boolean {
    const set = this.sets[index % Math.max(1, this.sets.length)];
    if (set === undefined) return false;
    const replicas = set.spec.replicas ?? 0;
    const image = set.spec.template.spec.containers?.[0]?.image ?? '';
    const availableReplicas = this.#isBroken(image) ? 0 : replicas;
    const status = { replicas, readyReplicas: availableReplicas, availableReplicas, observedGeneration: 1 };
    const isSame = set.status.replicas === replicas && (set.status.availableReplicas ?? 0) === availableReplicas;
    this.#replace({ ...set, status });
    return !isSame;
  }

  settle(): void {
    for (let step = 0; step < 500; step++) {
      const changes = [this.sync(), ...this.sets.map((_, index) => this.run(index))];
      if (!changes.includes(true)) return;
    }
    assert.fail('it never settles');
  }

  /** Pods that exist and that will exist, and those that are available and stay. */
  totals(): { readonly wanted: number; readonly available: number } {
    const sum = (of: (set: ReplicaSet) => number): number => this.sets.reduce((total, set) => total + of(set), 0);
    return {
      wanted: sum(({ spec }) => spec.replicas ?? 0),
      available: sum(({ spec, status }) => Math.min(spec.replicas ?? 0, status.availableReplicas ?? 0)),
    };
  }

  sizes(): string {
    return this.sets.map(({ spec }) => `${spec.template.spec.containers?.[0]?.image}=${spec.replicas}`).join(' ');
  }

  #replace(set: ReplicaSet): void {
    this.sets = this.sets.map((each) => (each.metadata.uid === set.metadata.uid ? set : each));
  }
}

const stamp = (index: number): string => `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`;

suite('plans of Deployments', () => {
  test('a rollout ends with the new template only, and its plan is then empty', () => {
    const simulation = new Simulation({ replicas: 10, image: 'web:1' });
    simulation.settle();
    simulation.change({ replicas: 10, image: 'web:2' });
    simulation.settle();
    assert.equal(simulation.sizes(), 'web:1=0 web:2=10');
    assert.equal(simulation.sync(), false);
  });

  test('a broken rollout keeps as many old Pods as it must', () => {
    const simulation = new Simulation({ replicas: 10, image: 'web:1' }, (image) => image === 'web:2');
    simulation.settle();
    simulation.change({ replicas: 10, image: 'web:2' });
    simulation.settle();
    assert.equal(simulation.sizes(), 'web:1=8 web:2=5');
  });

  test('scaling in a rollout divides the new Pods in proportion', () => {
    const limits = { maxSurge: 3, maxUnavailable: 2 };
    const simulation = new Simulation({ replicas: 10, image: 'web:1', ...limits }, (image) => image === 'web:2');
    simulation.settle();
    simulation.change({ replicas: 10, image: 'web:2', ...limits });
    simulation.settle();
    simulation.change({ replicas: 30, image: 'web:2', ...limits });
    simulation.sync();
    assert.equal(simulation.sizes(), 'web:1=20 web:2=13');
  });

  test('old ReplicaSets above the limit of the history are deleted', () => {
    const simulation = new Simulation({ replicas: 1, image: 'web:0' });
    simulation.settle();
    for (let version = 1; version <= 5; version++) {
      simulation.change({ replicas: 1, image: `web:${version}` });
      simulation.settle();
    }
    assert.equal(simulation.sizes(), 'web:3=0 web:4=0 web:5=1');
  });

  test('a rollout never has more Pods than its surge allows, nor fewer available ones than it must', () => {
    const amount = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom('0%', '10%', '25%', '50%', '100%'));
    const settings = fc.record({ replicas: fc.integer({ min: 1, max: 20 }), maxSurge: amount, maxUnavailable: amount });
    const steps = fc.array(fc.constantFrom('sync', 'first', 'second', 'third'), { maxLength: 60 });
    const property = fc.property(settings, steps, fc.boolean(), (given, order, isBroken) => {
      const simulation = new Simulation({ ...given, image: 'web:1' }, (image) => isBroken && image === 'web:2');
      simulation.settle();
      const { maxSurge, maxUnavailable } = limitsOf(simulation.deployment);
      for (const image of ['web:2', 'web:3']) {
        simulation.change({ ...given, image });
        for (const step of order) {
          if (step === 'sync') simulation.sync();
          else simulation.run(['first', 'second', 'third'].indexOf(step));
          const { wanted, available } = simulation.totals();
          assert.ok(wanted <= given.replicas + maxSurge, `${wanted} Pods: ${simulation.sizes()}`);
          assert.ok(available >= given.replicas - maxUnavailable, `${available} available: ${simulation.sizes()}`);
        }
      }
      simulation.settle();
      assert.match(simulation.sizes(), new RegExp(`web:3=${given.replicas}$`));
    });
    fc.assert(property, { numRuns: 300 });
  });
});
