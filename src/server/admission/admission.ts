// The plugins for objects of one kind. Others concern all kinds: namespace.ts, webhooks/ and quota/.
import type { Kind } from '../../api/kind.ts';
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificatesigningrequest/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { ingressKind } from '../../api/kinds/networking/ingress/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { admitCertificate } from './certificates.ts';
import { denyExternalIps } from './external-ips.ts';
import { withDefaultIngressClass } from './ingress-class.ts';

/** The object to write, and the one that it replaces. */
interface Change {
  readonly next: ApiObject;
  readonly old: ApiObject | undefined;
}

/** Throws a 403 for a change that a plugin does not allow. */
type Validate = (context: ServerContext, resource: Resource, request: WriteRequest, change: Change) => void;

/** Completes a new object. */
type Complete = (context: ServerContext, object: ApiObject) => ApiObject;

const completing = new Map<Kind, Complete>([[ingressKind, withDefaultIngressClass]]);

const validating = new Map<Kind, Validate>([
  [serviceKind, denyExternalIps],
  [certificateSigningRequestKind, admitCertificate],
]);

/** Returns a new object with what the plugins of its kind set. */
export const completed = (context: ServerContext, { kind }: Resource, object: ApiObject): ApiObject =>
  completing.get(kind)?.(context, object) ?? object;

/** Throws a 403 unless the plugins of the kind allow a change. */
export const admit: Validate = (context, resource, request, change) =>
  validating.get(resource.kind)?.(context, resource, request, change);
