import type { Service } from '../../api/kinds/core/service/schema.ts';

/** The variables of Services with a cluster IP: those of the Pod's namespace, and `kubernetes` of `default`. */
export function serviceVariables(
  services: readonly Service[],
  namespace: string,
  areLinked: boolean,
): ReadonlyMap<string, string> {
  const linked = services
    .filter(({ metadata }) => areLinked && metadata.namespace === namespace)
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const api = services.find(({ metadata }) => metadata.namespace === 'default' && metadata.name === 'kubernetes');
  const all = api === undefined || linked.includes(api) ? linked : [api, ...linked];
  return new Map(all.flatMap(variablesOf));
}

function variablesOf({ metadata, spec }: Service): readonly (readonly [string, string])[] {
  const { clusterIP = '', ports = [] } = spec;
  const [first] = ports;
  if (clusterIP === '' || clusterIP === 'None' || first === undefined) return [];
  const name = variableName(metadata.name ?? '');
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  const urlOf = ({ port, protocol = 'TCP' }: typeof first): string => `${protocol.toLowerCase()}://${host}:${port}`;
  return [
    [`${name}_SERVICE_HOST`, clusterIP],
    [`${name}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap((port): [string, string][] =>
      (port.name ?? '') === '' ? [] : [[`${name}_SERVICE_PORT_${variableName(port.name ?? '')}`, String(port.port)]],
    ),
    [`${name}_PORT`, urlOf(first)],
    ...ports.flatMap((port): [string, string][] => {
      const prefix = `${name}_PORT_${port.port}_${port.protocol ?? 'TCP'}`;
      return [
        [prefix, urlOf(port)],
        [`${prefix}_PROTO`, (port.protocol ?? 'TCP').toLowerCase()],
        [`${prefix}_PORT`, String(port.port)],
        [`${prefix}_ADDR`, clusterIP],
      ];
    }),
  ];
}

const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_');
