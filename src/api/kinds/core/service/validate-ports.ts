import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsLabelErrors, portNameErrors, portNumberErrors, qualifiedNameErrors } from '../../../names.ts';
import type { Service, ServicePort } from './schema.ts';

/** The protocols of a port, in the order in which messages list them. */
const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP'];

/** Validates each port, and that names are unique. */
export function checkPorts(errors: FieldError[], ports: readonly ServicePort[]): void {
  const names = new Set<string>();
  for (let index = 0; index < ports.length; index++) {
    const port = ports[index];
    if (port === undefined) continue;
    const { name = '' } = port;
    const path = `spec.ports[${index}]`;
    if (name !== '') {
      errors.push(...invalidAll(`${path}.name`, name, dnsLabelErrors(name)));
      if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
      names.add(name);
    } else if (ports.length > 1) {
      errors.push(required(`${path}.name`));
    }
    checkPort(errors, path, port);
  }
}

function checkPort(errors: FieldError[], path: string, port: ServicePort): void {
  const { protocol, targetPort = 0 } = port;
  errors.push(...invalidAll(`${path}.port`, port.port, portNumberErrors(port.port)));
  errors.push(...protocolErrors(path, protocol));
  const targetErrors = typeof targetPort === 'number' ? portNumberErrors(targetPort) : portNameErrors(targetPort);
  errors.push(...invalidAll(`${path}.targetPort`, targetPort, targetErrors));
  errors.push(...applicationErrors(path, port));
}

/** Validation errors of the protocol of a port of a Service, Endpoints or a slice. */
export function protocolErrors(path: string, protocol: string | undefined): FieldError[] {
  if (protocol === undefined) return [required(`${path}.protocol`)];
  return protocols.includes(protocol) ? [] : [notSupported(`${path}.protocol`, protocol, protocols)];
}

/** Validation errors of `appProtocol` and `srvServiceName` of a port of a Service, Endpoints or a slice. */
export const applicationErrors = (
  path: string,
  { appProtocol, srvServiceName }: Pick<ServicePort, 'appProtocol' | 'srvServiceName'>,
): FieldError[] => [
  ...(appProtocol === undefined
    ? []
    : invalidAll(`${path}.appProtocol`, appProtocol, qualifiedNameErrors(appProtocol))),
  ...(srvServiceName === undefined
    ? []
    : invalidAll(`${path}.srvServiceName`, srvServiceName, dnsLabelErrors(srvServiceName))),
];

/** Rejects node ports of ClusterIP Services, duplicate node ports and duplicate ports. */
export function checkPortsTogether(errors: FieldError[], type: string, ports: readonly ServicePort[]): void {
  if (type === 'ClusterIP') {
    ports.forEach(({ nodePort = 0 }, index) => {
      if (nodePort === 0) return;
      errors.push(forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
    });
  }
  if (ports.length < 2) return;
  const nodePorts = new Set<string>();
  ports.forEach(({ nodePort = 0, protocol = '' }, index) => {
    if (nodePort === 0) return;
    if (nodePorts.has(`${nodePort} ${protocol}`)) errors.push(duplicate(`spec.ports[${index}].nodePort`, nodePort));
    nodePorts.add(`${nodePort} ${protocol}`);
  });
  const numbers = new Set<string>();
  ports.forEach(({ port, protocol = '' }, index) => {
    const isTwice = numbers.has(`${port} ${protocol}`);
    if (isTwice) errors.push(duplicate(`spec.ports[${index}]`, inGoForm({ port, protocol, targetPort: 0 })));
    numbers.add(`${port} ${protocol}`);
  });
}

/** KEP-1435: with the gate disabled, a load balancer cannot have several protocols, unless the stored one has. */
export function checkMixedProtocols(
  errors: FieldError[],
  { spec: { type, ports = [] } }: Service,
  old: Service | undefined,
  { gates }: WriteContext,
): void {
  if (type !== 'LoadBalancer' || !isMixed(ports) || gates.enabled('MixedProtocolLBService')) return;
  if (old !== undefined && isMixed(old.spec.ports ?? [])) return;
  const detail = "may not contain more than 1 protocol when type is 'LoadBalancer'";
  errors.push(invalidValue('spec.ports', ports.map(inGoForm), detail));
}

const isMixed = (ports: readonly ServicePort[]): boolean =>
  ports.some(({ protocol }) => protocol !== ports[0]?.protocol);

/** A port as Kubernetes prints it, with the names of Go fields. */
const inGoForm = (port: Omit<ServicePort, 'protocol'> & { readonly protocol?: string }): object => ({
  Name: port.name ?? '',
  Protocol: port.protocol ?? '',
  AppProtocol: port.appProtocol ?? null,
  Port: port.port,
  TargetPort: port.targetPort ?? 0,
  NodePort: port.nodePort ?? 0,
});
