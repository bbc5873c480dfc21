import { isMaster } from '../access/authorize.ts';
import type { ApiRequest, User } from '../reply.ts';
import type { RequestInfo, ResourceRequest } from '../request.ts';
import type { PriorityLevel } from './options.ts';

/** How a request is shared out. */
export interface Classified {
  readonly level: PriorityLevel;
  /** Whose share it comes out of. */
  readonly flow: string;
  readonly isMutating: boolean;
}

const healthPaths = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** The part of a request that decides who sent it. */
export type Sender = Pick<ApiRequest, 'user' | 'impersonator' | 'remote'>;

/**
 * The user whose share a request uses: the authenticated one. The impersonated user would let a client with impersonation
 * rights use a share for every name it can make up.
 */
export const chargedUser = ({ user, impersonator }: Sender): User => impersonator ?? user;

/** Decides which lane a request takes, and whose share it uses. */
export function classify(sender: Sender, info: RequestInfo): Classified {
  const isMutating = changes(info);
  return { level: levelOf(chargedUser(sender), info, isMutating), flow: flowOf(sender), isMutating };
}

/** The flow of a sender: the user name, or for anonymous requests the address, which is all that tells them apart. */
export function flowOf(sender: Sender): string {
  const { name, groups } = chargedUser(sender);
  return groups.includes('system:unauthenticated') ? `${name}@${sender.remote ?? ''}` : name;
}

function levelOf(user: User, info: RequestInfo, isMutating: boolean): PriorityLevel {
  // First, so that a Lease does not wait behind what the same administrator does otherwise.
  if (info.isResource && isLease(info)) return 'leases';
  if (isMaster(user)) return 'exempt'; // an administrator never waits behind others
  if (info.isResource) return isMutating ? 'mutating' : 'readOnly';
  return healthPaths.test(info.path) ? 'exempt' : 'readOnly';
}

/** What a part does to stay the leader. */
const isLease = ({ group, resource, verb, name }: ResourceRequest): boolean =>
  group === 'coordination.k8s.io' &&
  resource === 'leases' &&
  (verb === 'create' || (name !== '' && (verb === 'get' || verb === 'update' || verb === 'patch')));

const changes = (info: RequestInfo): boolean =>
  info.isResource && info.verb !== 'get' && info.verb !== 'list' && info.verb !== 'watch';

/** Objects that cost a list about as much as an ordinary request costs. */
const objectsPerSeat = 200;
/** Bytes of a body that cost a write about as much as an ordinary one does, and take as much memory. */
const bytesPerSeat = 256 * 1024;
const maxSeats = 10;

/** What a request costs, in seats: lists grow with what there is to list, writes with the bytes of their body. */
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
