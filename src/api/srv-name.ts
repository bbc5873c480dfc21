/** A port whose SRV records may be named otherwise than the port is (KEP-3241): of Services, Endpoints and slices. */
interface SrvNamed {
  readonly srvServiceName?: string;
}

export const hasSrvName = ({ srvServiceName }: SrvNamed): boolean => srvServiceName !== undefined;

/** The port as servers know it that have no such field, or whose gate is off. */
export function withoutSrvName<Port extends SrvNamed>(port: Port): Omit<Port, 'srvServiceName'> {
  const { srvServiceName: _, ...rest } = port;
  return rest;
}
