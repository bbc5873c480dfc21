// What a node may do, as kube-apiserver's authorization mode Node decides. The admission plugin NodeRestriction
// limits writes further, because authorization does not see objects.
import { parseFieldSelector } from '../../../api/selectors/fields.ts';
import { persistentVolumeKind } from '../../../api/kinds/core/persistentvolume/kind.ts';
import type { PersistentVolume } from '../../../api/kinds/core/persistentvolume/schema.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Attributes, ResourceAttributes } from '../rbac/attributes.ts';
import { nodeRules } from '../rbac/defaults/kubernetes.ts';
import { allows, normalized } from '../rbac/rules.ts';
import { NodePods } from './node-pods.ts';

/** Why a request is not allowed, which may be empty; undefined: it is allowed. */
type Denial = string | undefined;

const rules = nodeRules.map(normalized);
const leaseNamespace = 'kube-node-lease';

/** Authorizes requests of nodes by the Pods that are bound to them. */
export class NodeAuthorizer {
  readonly #pods: NodePods;
  readonly #watchCache: WatchCache;

  constructor(watchCache: WatchCache) {
    this.#watchCache = watchCache;
    this.#pods = new NodePods(watchCache);
  }

  /** Decides about a request of the node with this name. */
  denial(node: string, attributes: Attributes): Denial {
    if (node === '') return 'unknown node for user "system:node:"';
    if (attributes.isResource) {
      switch (`${attributes.group}/${attributes.resource}`) {
        case '/secrets':
        case '/configmaps':
          return this.#namedRead(node, attributes);
        case '/persistentvolumeclaims':
          return attributes.subresource === 'status'
            ? this.#claimStatus(node, attributes)
            : (getDenial(attributes) ?? this.#referenceDenial(node, attributes));
        case '/persistentvolumes':
          return getDenial(attributes) ?? this.#volumeDenial(node, attributes.name);
        case '/serviceaccounts':
          return this.#serviceAccount(node, attributes);
        case 'coordination.k8s.io/leases':
          return leaseDenial(node, attributes);
        case '/nodes':
          return nodeDenial(node, attributes);
        case '/pods':
          return this.#pod(node, attributes);
      }
    }
    return allows(rules, attributes) ? undefined : '';
  }

  #namedRead(node: string, attributes: ResourceAttributes): Denial {
    if (!isRead(attributes.verb)) return 'can only read resources of this type';
    if (attributes.subresource !== '') return 'cannot read subresource';
    if (attributes.namespace === '') return 'can only read namespaced object of this type';
    return this.#referenceDenial(node, attributes);
  }

  #claimStatus(node: string, attributes: ResourceAttributes): Denial {
    if (attributes.verb !== 'update' && attributes.verb !== 'patch') return 'can only get/update/patch this type';
    return this.#referenceDenial(node, attributes);
  }

  #serviceAccount(node: string, attributes: ResourceAttributes): Denial {
    if (attributes.verb === 'get' && attributes.subresource === '') return this.#namedRead(node, attributes);
    if (attributes.verb !== 'create' || attributes.name === '') {
      return 'can only create tokens for individual service accounts';
    }
    if (attributes.subresource !== 'token') return 'can only create token subresource of serviceaccount';
    return this.#referenceDenial(node, attributes);
  }

  #pod(node: string, attributes: ResourceAttributes): Denial {
    const { verb, subresource, namespace, name } = attributes;
    const unrelated = this.#pods.isBound(node, namespace, name) ? undefined : noRelation(node);
    if (subresource === '') {
      if (verb === 'get') return name === '' ? noName : unrelated;
      if (verb === 'list' || verb === 'watch') {
        if (selectsPodsOf(node, attributes)) return undefined;
        return name === '' ? 'can only list/watch pods with spec.nodeName field selector' : unrelated;
      }
      return verb === 'create' || verb === 'delete' ? undefined : '';
    }
    if (subresource === 'status') return verb === 'update' || verb === 'patch' ? undefined : '';
    return subresource === 'eviction' && verb === 'create' ? undefined : '';
  }

  #referenceDenial(node: string, { resource, namespace, name }: ResourceAttributes): Denial {
    if (name === '') return noName;
    return this.#pods.isReferenced(node, resource, namespace, name) ? undefined : noRelation(node);
  }

  /** A node may read the volume of a claim that one of its Pods refers to. */
  #volumeDenial(node: string, name: string): Denial {
    if (name === '') return noName;
    const cache = this.#watchCache.of(persistentVolumeKind);
    const volume = cache.get(cache.key('', name))?.object as PersistentVolume | undefined;
    const { namespace = '', name: claim = '' } = volume?.spec.claimRef ?? {};
    const resource = 'persistentvolumeclaims';
    return this.#pods.isReferenced(node, resource, namespace, claim) ? undefined : noRelation(node);
  }
}

const noName = 'No Object name found';
const noRelation = (node: string): string => `no relationship found between node '${node}' and this object`;

const isRead = (verb: string): boolean => verb === 'get' || verb === 'list' || verb === 'watch';

function getDenial({ verb, subresource }: ResourceAttributes): Denial {
  if (verb !== 'get') return 'can only get individual resources of this type';
  return subresource === '' ? undefined : 'cannot get subresource';
}

const leaseVerbs: readonly string[] = ['get', 'create', 'update', 'patch', 'delete'];

function leaseDenial(node: string, { verb, namespace, name }: ResourceAttributes): Denial {
  if (!leaseVerbs.includes(verb)) return 'can only get, create, update, patch, or delete a node lease';
  if (namespace !== leaseNamespace) return `can only access leases in the "${leaseNamespace}" system namespace`;
  // Authorization does not see the name of a new lease; NodeRestriction does.
  if (verb === 'create' || name === node) return undefined;
  return 'can only access node lease with the same name as the requesting node';
}

function nodeDenial(node: string, { verb, subresource, name }: ResourceAttributes): Denial {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? undefined : '';
  if (subresource !== '') return '';
  if (verb === 'create' || verb === 'update' || verb === 'patch') return undefined;
  if (!isRead(verb)) return '';
  if (name === node) return undefined;
  return name === ''
    ? `node '${node}' cannot read all nodes, only its own Node object`
    : `node '${node}' cannot read '${name}', only its own Node object`;
}

/** Whether a list or watch selects only Pods that are bound to the node. */
function selectsPodsOf(node: string, { query }: ResourceAttributes): boolean {
  const text = query?.get('fieldSelector') ?? '';
  if (text === '') return false;
  try {
    return parseFieldSelector(text).some(
      ({ path, equal, value }) => path === 'spec.nodeName' && equal && value === node,
    );
  } catch {
    return false; // an invalid selector, which the verb rejects for users who may list all
  }
}
