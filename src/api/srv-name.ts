/** A port of a Service, Endpoints or a slice whose SRV records may have another name than the port (KEP-3241). */
interface SrvNamed {
  readonly srvServiceName?: string;
}

export const hasSrvName = ({ srvServiceName }: SrvNamed): boolean => srvServiceName !== undefined;

/** The port without that field, for servers whose gate SRVServiceName is disabled. */
export function withoutSrvName<Port extends SrvNamed>(port: Port): Omit<Port, 'srvServiceName'> {
  const { srvServiceName: _, ...rest } = port;
  return rest;
}
