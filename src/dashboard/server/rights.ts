// Which kinds a viewer may read in a namespace of a cluster.

/** The kinds that rows are made of. */
const resources = ['services', 'endpointslices', 'serviceexports', 'serviceimports', 'events'] as const;
export type Resource = (typeof resources)[number];

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
