import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../api/kinds/apps/replicaset/kind.ts';
import { replicaSetKind } from '../../api/kinds/apps/replicaset/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { ReplicationController } from '../../api/kinds/core/replicationcontroller/kind.ts';
import { replicationControllerKind } from '../../api/kinds/core/replicationcontroller/kind.ts';
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

  constructor(informers: Informers) {
    this.deployments = informers.of(deploymentKind, { indexes: byNamespace });
    this.replicaSets = informers.of(replicaSetKind, { indexes: { ...byNamespace, controller: controllerIndex } });
    this.namespaces = informers.of(namespaceKind);
    this.replicationControllers = informers.of(replicationControllerKind, { indexes: byNamespace });
  }
}
