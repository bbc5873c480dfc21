// Which kinds a viewer may read in a namespace of a cluster.
import type { Kind } from '../../api/kind.ts';

/** The kinds that rows are made of. */
export const resources = ['services', 'endpointslices', 'serviceexports', 'serviceimports', 'events'] as const;
export type Resource = (typeof resources)[number];

/** A kind, as reviews name it. */
export type ReviewedKind = Pick<Kind, 'group' | 'plural'>;

/** Resource → whether a viewer may list it. */
export type Rights = Readonly<Record<Resource, boolean>>;

/** Everything that the dashboard itself may read. */
export const allRights: Rights = {
  services: true,
  endpointslices: true,
  serviceexports: true,
  serviceimports: true,
  events: true,
};

/** Nothing. */
export const noRights: Rights = {
  services: false,
  endpointslices: false,
  serviceexports: false,
  serviceimports: false,
  events: false,
};
