// The plugins for objects of one kind. Others concern all kinds: namespace.ts, webhooks/ and quota/.
import { forbidden } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { customResourceDefinitionKind } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificatesigningrequest/kind.ts';
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistentvolumeclaim/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { ingressKind } from '../../api/kinds/networking/ingress/kind.ts';
import { priorityClassKind } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { admitCertificate } from './certificates.ts';
import { withDefaultIngressClass, withDefaultStorageClass } from './default-classes.ts';
import { admitDefinition } from './definitions.ts';
import { checkLimits, withDefaultLimits } from './limit-ranger.ts';
import { denySecondDefault, withPriority, withPriorityOf } from './priority.ts';
import { withRuntimeClass } from './runtime-class.ts';
import { withDefaultTolerations } from './tolerations.ts';

/** The object to write, and the one that it replaces. */
interface Change {
  readonly next: ApiObject;
  readonly old: ApiObject | undefined;
}

/** Throws a 403 for a change that a plugin does not allow. */
type Validate = (context: ServerContext, resource: Resource, request: WriteRequest, change: Change) => void;

/** Completes an object; throws a 403 for one that a plugin does not allow. */
type Complete = (context: ServerContext, resource: Resource, change: Change) => ApiObject;

/** The plugins that change Pods, in kube-apiserver's order. */
const completePod: Complete = ({ watchCache, plugins }, resource, change) => {
  // Only called with Pods.
  let pod = change.next as Pod;
  const old = change.old as Pod | undefined;
  if (old === undefined && plugins.has('LimitRanger')) pod = withDefaultLimits(watchCache, pod);
  if (plugins.has('Priority')) {
    pod = old === undefined ? withPriority(watchCache, resource, pod) : withPriorityOf(old, pod);
  }
  if (plugins.has('DefaultTolerationSeconds')) pod = withDefaultTolerations(pod);
  return old === undefined && plugins.has('RuntimeClass') ? withRuntimeClass(watchCache, resource, pod) : pod;
};

/** DenyServiceExternalIPs: throws a 403 for a Service with a new external IP. */
const denyExternalIps: Validate = ({ plugins }, resource, { subresource }, { next, old }) => {
  if (subresource !== '' || !plugins.has('DenyServiceExternalIPs')) return;
  const before = new Set(old === undefined ? [] : externalIpsOf(old));
  if (externalIpsOf(next).every((ip) => before.has(ip))) return;
  throw forbidden(subjectOf(resource, next.metadata.name ?? ''), 'Use of external IPs is denied by admission control');
};

// Only called with Services.
const externalIpsOf = (object: ApiObject): readonly string[] => (object as Service).spec.externalIPs ?? [];

const completing = new Map<Kind, Complete>([
  [ingressKind, withDefaultIngressClass],
  [persistentVolumeClaimKind, withDefaultStorageClass],
  [podKind, completePod],
]);

const validating = new Map<Kind, Validate>([
  [podKind, checkLimits],
  [persistentVolumeClaimKind, checkLimits],
  [serviceKind, denyExternalIps],
  [certificateSigningRequestKind, admitCertificate],
  [priorityClassKind, denySecondDefault],
  [customResourceDefinitionKind, admitDefinition],
]);

/** Returns the object after the completing plugins of its kind. */
export const completed: Complete = (context, resource, change) =>
  completing.get(resource.kind)?.(context, resource, change) ?? change.next;

/** Throws a 403 unless the plugins of the kind allow a change. */
export const admit: Validate = (context, resource, request, change) =>
  validating.get(resource.kind)?.(context, resource, request, change);
