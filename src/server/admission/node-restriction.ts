// The admission plugin NodeRestriction: limits what nodes may write, where authorization does not see the objects.
import { messageOf } from '../../api/error-message.ts';
import { forbidden, notFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { TokenRequest } from '../../api/kinds/authentication/tokenrequest/kind.ts';
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificatesigningrequest/kind.ts';
import { readRequest } from '../../api/kinds/certificates/certificatesigningrequest/pkcs10.ts';
import type { CertificateSigningRequest } from '../../api/kinds/certificates/certificatesigningrequest/schema.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistentvolumeclaim/kind.ts';
import type { PersistentVolumeClaim } from '../../api/kinds/core/pod/claim.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { apiObjectsOf } from '../../api/kinds/core/pod/references.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { User } from '../../api/user.ts';
import { nodeNameOf } from '../access/node/identity.ts';
import { mirrorAnnotation } from '../access/node/node-pods.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { forbiddenLabels } from './node-labels.ts';

/** A write of a user. */
interface NodeWrite {
  readonly user: User | undefined;
  readonly subresource: string;
  /** The object to write; undefined for a deletion. */
  readonly next: ApiObject | undefined;
  /** The stored object; undefined for a creation. */
  readonly old: ApiObject | undefined;
}

type Context = Pick<ServerContext, 'plugins' | 'watchCache' | 'access'>;

/** A write of the node with this name. */
interface Restricted extends NodeWrite {
  readonly node: string;
  readonly context: Context;
}

/** Returns why a node may not do something; undefined: it may. */
type Restriction = (write: Restricted) => string | undefined;

/** Throws a 403 for a write that a node may not do. */
export function restrictNode(context: Context, kind: Kind, write: NodeWrite): void {
  const node = write.user && nodeNameOf(write.user);
  if (node === undefined || !context.plugins.has('NodeRestriction')) return;
  const why =
    node === ''
      ? `could not determine node from user ${JSON.stringify(write.user?.name)}`
      : restrictions.get(kind)?.({ ...write, node, context });
  if (why === undefined) return;
  const { name = '' } = (write.next ?? write.old)?.metadata ?? {};
  throw forbidden({ group: kind.group, resource: kind.plural, ...(name === '' ? {} : { name }) }, why);
}

/** Throws a 403 for a token that is not bound to a Pod of the node, or is for an audience that the Pod does not have. */
export function restrictToken(
  context: Context,
  user: User,
  {
    namespace,
    name,
    request: { spec },
  }: { readonly namespace: string; readonly name: string; readonly request: TokenRequest },
): void {
  const node = nodeNameOf(user);
  if (node === undefined || !context.plugins.has('NodeRestriction')) return;
  const deny = (why: string): Error => forbidden({ group: '', resource: 'serviceaccounts', name }, why);
  const { apiVersion, kind, name: podName = '', uid = '' } = spec.boundObjectRef ?? {};
  if (apiVersion !== 'v1' || kind !== 'Pod' || podName === '') throw deny('node requested token not bound to a pod');
  if (uid === '') throw deny('node requested token with a pod binding without a uid');
  const pod = podOf(context, namespace, podName);
  if (pod === undefined) throw notFound({ group: '', resource: 'pods', name: podName });
  if (pod.metadata.uid !== uid) {
    throw deny(
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec.nodeName !== node) throw deny('node requested token bound to a pod scheduled on a different node');
  const audiences = spec.audiences ?? [];
  if (audiences.length > 1) throw deny('node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  const isUsed = hasAudience(pod, audience) || mayRequestAudience(context, user, { namespace, name, audience });
  if (!isUsed) {
    throw deny(
      `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
    );
  }
}

const hasAudience = ({ spec: { volumes = [] } }: Pod, audience: string): boolean =>
  volumes.some(({ projected }) =>
    (projected?.sources ?? []).some(
      ({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? '') === audience,
    ),
  );

const mayRequestAudience = (
  { access }: Context,
  user: User,
  { namespace, name, audience }: { readonly namespace: string; readonly name: string; readonly audience: string },
): boolean =>
  access.isAllowed(user, {
    isResource: true,
    verb: 'request-serviceaccounts-token-audience',
    group: '',
    resource: audience,
    subresource: '',
    namespace,
    name,
  });

const restrictions = new Map<Kind, Restriction>([
  [podKind, restrictPod],
  [nodeKind, restrictNodeObject],
  [leaseKind, restrictLease],
  [certificateSigningRequestKind, restrictCertificate],
  [persistentVolumeClaimKind, restrictClaim],
]);

function restrictPod({ node, context, subresource, next, old }: Restricted): string | undefined {
  const quoted = JSON.stringify(node);
  const [pod, stored] = [next, old] as [Pod | undefined, Pod | undefined];
  const isOwn = stored?.spec.nodeName === node;
  if (subresource === 'eviction')
    return isOwn ? undefined : `node ${node} can only evict pods with spec.nodeName set to itself`;
  if (subresource === 'status') {
    if (!isOwn) return `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`;
    const isRelabelled = !equalJson(pod?.metadata.labels ?? {}, stored.metadata.labels ?? {});
    return isRelabelled ? `node ${quoted} cannot update labels through pod status` : undefined;
  }
  if (subresource !== '') {
    return `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`;
  }
  if (pod === undefined)
    return isOwn ? undefined : `node ${quoted} can only delete pods with spec.nodeName set to itself`;
  if (stored !== undefined)
    return `unexpected operation "UPDATE", node ${quoted} can only create and delete mirror pods`;
  return mirrorPodProblem(pod, node, context);
}

/** Why a node may not create a Pod: only one that shows what it runs on its own, and that gives it no access. */
function mirrorPodProblem(pod: Pod, node: string, context: Context): string | undefined {
  const quoted = JSON.stringify(node);
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  if (annotations[mirrorAnnotation] === undefined) {
    return `pod does not have "${mirrorAnnotation}" annotation, node ${quoted} can only create mirror pods`;
  }
  if (pod.spec.nodeName !== node) return `node ${quoted} can only create pods with spec.nodeName set to itself`;
  const [owner, ...others] = ownerReferences;
  if (others.length > 0) return `node ${quoted} can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    return `node ${quoted} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true)
    return `node ${quoted} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node ${quoted} must not set blockOwnerDeletion on an owner reference`;
  const cache = context.watchCache.of(nodeKind);
  const stored = cache.get(cache.key('', node))?.object;
  if (stored === undefined) throw notFound({ group: '', resource: 'nodes', name: node });
  const { uid = '' } = stored.metadata;
  if (owner.uid !== uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const referenced = apiObjectsOf(pod);
  return referenced === undefined ? undefined : `node ${quoted} can not create pods that reference ${referenced}`;
}

function restrictNodeObject({ node, next, old }: Restricted): string | undefined {
  const quoted = JSON.stringify(node);
  const [object, stored] = [next, old] as [Node | undefined, Node | undefined];
  const { name = '' } = (object ?? stored)?.metadata ?? {};
  if (name !== node) return `node ${quoted} is not allowed to modify node ${JSON.stringify(name)}`;
  if (object === undefined) return undefined;
  const labels = forbiddenLabels(object.metadata.labels, stored?.metadata.labels).join(', ');
  const { configSource } = object.spec;
  if (stored === undefined) {
    if (configSource !== undefined) return `node ${quoted} is not allowed to create pods with a non-nil configSource`;
    return labels === '' ? undefined : `node ${quoted} is not allowed to set the following labels: ${labels}`;
  }
  if (configSource !== undefined && !equalJson(configSource, stored.spec.configSource)) {
    return `node ${quoted} is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!equalJson(object.spec.taints ?? [], stored.spec.taints ?? []))
    return `node ${quoted} is not allowed to modify taints`;
  if (!equalJson(object.metadata.ownerReferences ?? [], stored.metadata.ownerReferences ?? [])) {
    return `node ${quoted} is not allowed to modify ownerReferences`;
  }
  return labels === '' ? undefined : `is not allowed to modify labels: ${labels}`;
}

function restrictLease({ node, next, old }: Restricted): string | undefined {
  const { namespace, name } = (next ?? old)?.metadata ?? {};
  if (namespace !== 'kube-node-lease') return 'can only access leases in the "kube-node-lease" system namespace';
  return name === node ? undefined : 'can only access node lease with the same name as the requesting node';
}

const nodeSigners: readonly string[] = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

function restrictCertificate({ node, next, old }: Restricted): string | undefined {
  if (next === undefined || old !== undefined) return undefined;
  const { signerName, request } = (next as CertificateSigningRequest).spec;
  if (!nodeSigners.includes(signerName)) return undefined;
  try {
    const { commonName } = readRequest(Buffer.from(request, 'base64').toString('latin1'));
    return commonName === `system:node:${node}` ? undefined : `can only create a node CSR with CN=system:node:${node}`;
  } catch (error) {
    return `unable to parse csr: ${messageOf(error)}`;
  }
}

/** A node may report the size and the conditions of a claim, and change nothing else. */
function restrictClaim({ node, subresource, next, old }: Restricted): string | undefined {
  if (subresource !== 'status' || next === undefined || old === undefined) return 'may only update PVC status';
  const [before, after] = [reported(old as PersistentVolumeClaim), reported(next as PersistentVolumeClaim)];
  if (equalJson(before, after)) return undefined;
  return `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions`;
}

function reported({ metadata, spec, status }: PersistentVolumeClaim): object {
  const { resourceVersion: _, managedFields: __, ...identity } = metadata;
  const {
    capacity: ___,
    conditions: ____,
    allocatedResources: _____,
    allocatedResourceStatuses: ______,
    ...rest
  } = status;
  return { metadata: identity, spec, status: rest };
}

function podOf({ watchCache }: Context, namespace: string, name: string): Pod | undefined {
  const cache = watchCache.of(podKind);
  return cache.get(cache.key(namespace, name))?.object as Pod | undefined;
}
