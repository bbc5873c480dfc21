import { isMaster } from '../access/authorize.ts';
import type { User } from '../../api/user.ts';
import type { ApiRequest } from '../reply.ts';
import type { RequestInfo, ResourceRequest } from '../request.ts';
import type { PriorityLevel } from './options.ts';

/** How flow control treats a request. */
export interface RequestClass {
  readonly level: PriorityLevel;
  /** The flow whose share the request uses. */
  readonly flow: string;
  readonly isMutating: boolean;
}

const healthPaths = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** The fields of a request that identify its sender. */
export type Sender = Pick<ApiRequest, 'user' | 'impersonator' | 'remoteAddress'>;

/**
 * The user whose share a request uses: the authenticated user, even when the request impersonates another. Otherwise a
 * client that may impersonate could use one share for each name it invents.
 */
export const chargedUser = ({ user, impersonator }: Sender): User => impersonator ?? user;

/** The priority level and the flow of a request. */
export function classify(sender: Sender, info: RequestInfo): RequestClass {
  const isMutating = changes(info);
  return { level: levelOf(chargedUser(sender), info, isMutating), flow: flowOf(sender), isMutating };
}

/** The flow of a sender: the user name, and for anonymous requests the address too. */
export function flowOf(sender: Sender): string {
  const { name, groups } = chargedUser(sender);
  return groups.includes('system:unauthenticated') ? `${name}@${sender.remoteAddress ?? ''}` : name;
}

function levelOf(user: User, info: RequestInfo, isMutating: boolean): PriorityLevel {
  // Checked first, so that a Lease does not wait behind other requests of the same administrator.
  if (info.isResource && isLease(info)) return 'leases';
  if (isMaster(user)) return 'exempt'; // an administrator never waits behind other users
  if (info.isResource) return isMutating ? 'mutating' : 'readOnly';
  return healthPaths.test(info.path) ? 'exempt' : 'readOnly';
}

/** The requests of leader election. */
const isLease = ({ group, resource, verb, name }: ResourceRequest): boolean =>
  group === 'coordination.k8s.io' &&
  resource === 'leases' &&
  (verb === 'create' || (name !== '' && (verb === 'get' || verb === 'update' || verb === 'patch')));

const changes = (info: RequestInfo): boolean =>
  info.isResource && info.verb !== 'get' && info.verb !== 'list' && info.verb !== 'watch';

/** Listing this many objects costs about as much as an ordinary request. */
const objectsPerSeat = 200;
/** Reading a body of this size costs about as much time and memory as an ordinary request. */
const bytesPerSeat = 256 * 1024;
const maxSeats = 10;

/** The cost of a request in seats: that of a list grows with the number of objects, that of a write with its body. */
export function costOf(
  info: RequestInfo,
  { objects, bytes }: { readonly objects: number; readonly bytes: number },
): number {
  if (!info.isResource) return 1;
  if (info.verb !== 'list' && info.verb !== 'deletecollection') {
    return Math.max(1, Math.min(maxSeats, Math.ceil(bytes / bytesPerSeat)));
  }
  const limit = Number(info.query.get('limit') ?? 0);
  const listed = limit > 0 && limit < objects ? limit : objects;
  return Math.max(1, Math.min(maxSeats, Math.ceil(listed / objectsPerSeat)));
}
