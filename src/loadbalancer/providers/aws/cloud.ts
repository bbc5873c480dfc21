// What of a Service a network load balancer can be made for: the rules of all clouds, and those of this adapter.
import { canonicalCidr } from '../../../api/addresses.ts';
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { Cloud, Port, Request } from '../../clouds/cloud.ts';
import { aws } from '../../clouds/aws.ts';
import type { Fault } from '../../clouds/fault.ts';
import { fault } from '../../clouds/fault.ts';
import type { FoundBalancer } from './found.ts';
import { keepsSecurityGroup, narrowRanges } from './security-group.ts';
import type { Settings } from './settings.ts';
import { annotationProblem, unknownAnnotations } from './settings.ts';
import { instanceOf } from './targets.ts';

/** What a plan depends on beside the Service. */
export interface AwsContext {
  readonly settings: Settings;
  /** What is there already, some of which cannot change. */
  readonly balancer: FoundBalancer | undefined;
}

/** The product that TCP and UDP can share a port of. */
export const nlbProduct = 'nlb-lbc';

/** AWS as it is planned for when it is really asked: always a network load balancer. */
export const networkLoadBalancers = (around: AwsContext): Cloud => ({
  ...aws,
  products: aws.products
    .filter(({ name }) => name === nlbProduct)
    .map((product) => ({ ...product, title: 'NLB', ...(isToNodes(around) ? { needsNodePorts: true } : {}) })),
  choose: () => nlbProduct,
  check: (request) => check(request, around) ?? aws.check?.(request),
  // Those that are named are not made.
  resources: (request, units) =>
    aws
      .resources(request, units)
      .filter(({ type }) => !type.startsWith('SecurityGroup') || keepsSecurityGroup(around.settings, around.balancer)),
  warnings: ({ service, nodes }) => [
    ...unknownAnnotations(service).map((name) => `annotation ${name} means nothing here`),
    ...(isToNodes(around) ? nodes : [])
      .filter((node) => instanceOf(node) === undefined)
      .slice(0, 5)
      .map(({ metadata }) => `node ${metadata.name} gets no traffic: its spec.providerID names no EC2 instance`),
  ],
});

const isToNodes = ({ settings }: AwsContext): boolean => settings.targetType === 'instance';

function check(request: Request, around: AwsContext): Fault | undefined {
  const { service } = request;
  const problem = annotationProblem(service) ?? placeProblem(request, around);
  if (problem !== undefined) return fault('fairlead.dev/InvalidAnnotation', problem);
  const outside = rangesFault(service, around.settings);
  if (outside !== undefined) return outside;
  if ((service.spec.loadBalancerIP ?? '') !== '') {
    const message = 'AWS NLB has a name, not an address: drop spec.loadBalancerIP';
    return fault('fairlead.dev/UnsupportedLoadBalancerIP', message);
  }
  if (service.spec.sessionAffinity === 'ClientIP' && request.l7.size > 0)
    return fault('fairlead.dev/UnsupportedAffinity', 'AWS NLB has no session affinity on ports that end TLS');
  if (!request.families.includes('IPv4'))
    return fault(
      'fairlead.dev/UnsupportedFamily',
      'AWS NLB sends to its targets over IPv4: add IPv4 to spec.ipFamilies',
    );
  return (isToNodes(around) ? undefined : twinFault(request)) ?? changeFault(request, around);
}

/** Who is let in is for the group that is ours to keep, and by ranges alone. */
function rangesFault(service: Service, { securityGroups }: Settings): Fault | undefined {
  const code = 'fairlead.dev/UnsupportedSourceRanges';
  const ranges = narrowRanges(service);
  const wrong = ranges.find((range) => canonicalCidr(range) === undefined);
  if (wrong !== undefined)
    return fault(code, `"${wrong}" is not a range of clients: expected a CIDR such as 192.0.2.0/24`);
  if (ranges.length === 0 || securityGroups.length === 0) return undefined;
  const message = 'named security groups have rules of their own: remove the ranges of clients, or the groups';
  return fault(code, message);
}

/** One listener for TCP and UDP sends both to one port of an endpoint. */
function twinFault({ ports }: Request): Fault | undefined {
  const targetOf = ({ targetPort, port }: Port): number | string => targetPort ?? port;
  const twin = ports.find((one) => ports.some((other) => other.port === one.port && targetOf(other) !== targetOf(one)));
  if (twin === undefined) return undefined;
  const message = `port ${twin.port} is one listener for TCP and UDP, so that both need one target port`;
  return fault('fairlead.dev/NodePortMismatch', message);
}

function placeProblem({ ports }: Request, { settings, balancer }: AwsContext): string | undefined {
  const { subnets, elasticAddresses, isDualStack } = settings;
  const [place, addresses, families] = ['subnets', 'eip-allocations', 'ip-address-type'].map(
    (word) => `service.beta.kubernetes.io/aws-load-balancer-${word}`,
  );
  if (subnets.length === 0 && balancer === undefined)
    return `in which subnets? annotate the Service with ${place}, or pass --aws-subnets`;
  if (elasticAddresses.length > 0 && elasticAddresses.length !== subnets.length)
    return `annotation ${addresses} has ${elasticAddresses.length} addresses for ${subnets.length} subnets: one each`;
  if (isDualStack && ports.some(({ protocol }) => protocol === 'UDP'))
    return `annotation ${families} is dualstack, which AWS NLB supports for UDP only with settings that are not available here`;
  return undefined;
}

/** What AWS cannot change without another load balancer, which would have another name. */
function changeFault({ service, isInternal }: Request, { settings, balancer }: AwsContext): Fault | undefined {
  if (balancer === undefined) return undefined;
  const needsGroups = settings.securityGroups.length > 0 || narrowRanges(service).length > 0;
  const why =
    needsGroups && balancer.securityGroups.length === 0
      ? 'it was made without security groups'
      : whyFixed(balancer, settings, isInternal ? 'internal' : 'internet-facing');
  if (why === undefined) return undefined;
  const message = `AWS cannot change this of load balancer ${balancer.name}: ${why}; delete the Service and create it again`;
  return fault('fairlead.dev/CannotChange', message);
}

function whyFixed(balancer: FoundBalancer, settings: Settings, scheme: string): string | undefined {
  if (balancer.scheme !== scheme) return `it is ${balancer.scheme}`;
  const isOther = settings.elasticAddresses.some((address) => !balancer.elasticAddresses.includes(address));
  return isOther ? 'it has other addresses' : undefined;
}
