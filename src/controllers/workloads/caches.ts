import type { ControllerRevision } from '../../api/kinds/apps/controllerrevision/kind.ts';
import { controllerRevisionKind } from '../../api/kinds/apps/controllerrevision/kind.ts';
import type { DaemonSet } from '../../api/kinds/apps/daemonset/kind.ts';
import { daemonSetKind } from '../../api/kinds/apps/daemonset/kind.ts';
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../api/kinds/apps/replicaset/kind.ts';
import { replicaSetKind } from '../../api/kinds/apps/replicaset/kind.ts';
import { statefulSetKind } from '../../api/kinds/apps/statefulset/kind.ts';
import type { StatefulSet } from '../../api/kinds/apps/statefulset/schema.ts';
import type { CronJob } from '../../api/kinds/batch/cronjob/kind.ts';
import { cronJobKind } from '../../api/kinds/batch/cronjob/kind.ts';
import { jobKind } from '../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../api/kinds/batch/job/schema.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { ReplicationController } from '../../api/kinds/core/replicationcontroller/kind.ts';
import { replicationControllerKind } from '../../api/kinds/core/replicationcontroller/kind.ts';
import type { PodDisruptionBudget } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { podDisruptionBudgetKind } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import { namespaceIndex } from './dependents.ts';
import { controllerIndex } from './owner.ts';

const byNamespace = { namespace: namespaceIndex };

/** The caches of the controllers of workloads, one per kind. */
export class WorkloadCaches {
  readonly deployments: Informer<Deployment, 'namespace'>;
  readonly replicaSets: Informer<ReplicaSet, 'namespace' | 'controller'>;
  readonly replicationControllers: Informer<ReplicationController, 'namespace'>;

  readonly namespaces: Informer<Namespace>;
  readonly statefulSets: Informer<StatefulSet, 'namespace'>;
  readonly daemonSets: Informer<DaemonSet, 'namespace'>;
  readonly revisions: Informer<ControllerRevision, 'controller'>;
  readonly jobs: Informer<Job, 'namespace' | 'controller'>;
  readonly cronJobs: Informer<CronJob, 'namespace'>;
  readonly budgets: Informer<PodDisruptionBudget, 'namespace'>;

  constructor(informers: Informers) {
    this.deployments = informers.of(deploymentKind, { indexes: byNamespace });
    this.replicaSets = informers.of(replicaSetKind, { indexes: { ...byNamespace, controller: controllerIndex } });
    this.namespaces = informers.of(namespaceKind);
    this.statefulSets = informers.of(statefulSetKind, { indexes: byNamespace });
    this.daemonSets = informers.of(daemonSetKind, { indexes: byNamespace });
    this.revisions = informers.of(controllerRevisionKind, { indexes: { controller: controllerIndex } });
    this.jobs = informers.of(jobKind, { indexes: { ...byNamespace, controller: controllerIndex } });
    this.cronJobs = informers.of(cronJobKind, { indexes: byNamespace });
    this.budgets = informers.of(podDisruptionBudgetKind, { indexes: byNamespace });
    this.replicationControllers = informers.of(replicationControllerKind, { indexes: byNamespace });
  }
}
