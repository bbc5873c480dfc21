import type { StatusError } from '../../api/errors.ts';
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { Write } from '../../store/store.ts';

/** Words the failure of a claim that a client asked for; `problem` says what is wrong with the address or port. */
export type Wording = (problem: string) => StatusError;

/** One request's way to addresses. What it gets is reserved until the operation is settled. */
export interface AddressOperation {
  /** Takes the address a client asked for, or throws. */
  claimAddress(ip: string, wording: Wording): void;
  /** Takes any address; undefined when the range is full. */
  takeAddress(family: IpFamily): string | undefined;
  /** Gives up an address once the commit goes through. */
  releaseAddress(ip: string): void;
}

/** One request's way to node ports, with the same rules. */
export interface PortOperation {
  claimPort(port: number, wording: Wording): void;
  takePort(): number | undefined;
  releasePort(port: number): void;
}

/** What a claim that was lost at commit means: an answer for the client, or that planning again will find another. */
export type Conflict = StatusError | 'plan again';

/** Everything one request takes and gives up. */
export interface Operation extends AddressOperation, PortOperation {
  /** The keys to write in the same commit as the Service. */
  readonly writes: readonly Write[];
  /** Ends the reservations; call it when the commit is decided, or will never be. */
  settle(): void;
  /** What to do when the commit failed at `key`; undefined when it is not a key of this operation. */
  conflictFor(key: string): Conflict | undefined;
}

/** Kubernetes' words for what somebody else has. */
export const alreadyAllocated = {
  address: 'provided IP is already allocated',
  port: 'provided port is already allocated',
} as const;

/** Kubernetes' words for an address that no range of the cluster has. */
export const foreignNetwork = 'the provided network does not match the current range';

/** Kubernetes' words for an address that a dry run does not find in the range. */
export const addressOutOfRange = (ip: string, cidr: string): string =>
  `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${cidr}`;

/** Kubernetes' words for a port that is never handed out. */
export const portOutOfRange = ({ from, to }: { readonly from: number; readonly to: number }): string =>
  `provided port is not in the valid range. The range of valid ports is ${from}-${to}`;
