import { isMaster } from '../access/authorize.ts';
import type { User } from '../reply.ts';
import type { RequestInfo, ResourceRequest } from '../request.ts';
import type { LaneName } from './options.ts';

/** How a request is shared out. */
export interface Classified {
  readonly lane: LaneName;
  /** Whose share it comes out of. */
  readonly flow: string;
  readonly isMutating: boolean;
}

const healthPaths = /^\/(?:healthz|livez|readyz)(?:\/|$)/;

/** Decides which lane a request takes, and whose it is. */
export function classify(user: User, remote: string | undefined, info: RequestInfo): Classified {
  const isMutating = changes(info);
  return { lane: laneOf(user, info, isMutating), flow: flowOf(user, remote), isMutating };
}

/** Nobody knows who is anonymous, so an address stands for whoever is there. */
export const flowOf = (user: User, remote: string | undefined): string =>
  user.groups.includes('system:unauthenticated') ? `${user.name}@${remote ?? ''}` : user.name;

function laneOf(user: User, info: RequestInfo, isMutating: boolean): LaneName {
  if (isMaster(user)) return 'exempt'; // an administrator never waits behind others
  if (info.isResource) {
    if (isLease(info)) return 'leases';
    return isMutating ? 'mutating' : 'readOnly';
  }
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
const mostSeats = 10;

/** What a request costs, in seats: lists grow with what there is to list, everything else is one. */
export function costOf(info: RequestInfo, objects: number): number {
  if (!info.isResource || (info.verb !== 'list' && info.verb !== 'deletecollection')) return 1;
  const limit = Number(info.query.get('limit') ?? 0);
  const listed = limit > 0 && limit < objects ? limit : objects;
  return Math.max(1, Math.min(mostSeats, Math.ceil(listed / objectsPerSeat)));
}
