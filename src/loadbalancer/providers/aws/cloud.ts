// The rules for network load balancers: those of the AWS catalogue entry and those of this adapter.
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

/** The input of the rules besides the Service. */
export interface AwsContext {
  readonly settings: Settings;
  /** The existing load balancer, which has immutable properties. */
  readonly balancer: FoundBalancer | undefined;
}

/** The product with TCP and UDP on the same port. */
export const nlbProduct = 'nlb-lbc';

/** The AWS cloud restricted to network load balancers. */
export const networkLoadBalancers = (context: AwsContext): Cloud => ({
  ...aws,
  products: aws.products
    .filter(({ name }) => name === nlbProduct)
    .map((product) => ({ ...product, title: 'NLB', ...(isToNodes(context) ? { needsNodePorts: true } : {}) })),
  choose: () => nlbProduct,
  check: (request) => check(request, context) ?? aws.check?.(request),
  // Named security groups are not created.
  resources: (request, units) =>
    aws
      .resources(request, units)
      .filter(
        ({ type }) => !type.startsWith('SecurityGroup') || keepsSecurityGroup(context.settings, context.balancer),
      ),
  warnings: ({ service, nodes }) => [
    ...unknownAnnotations(service).map((name) => `annotation ${name} is not supported`),
    ...(isToNodes(context) ? nodes : [])
      .filter((node) => instanceOf(node) === undefined)
      .slice(0, 5)
      .map(({ metadata }) => `node ${metadata.name} receives no traffic: its spec.providerID is not an EC2 instance`),
  ],
});

const isToNodes = ({ settings }: AwsContext): boolean => settings.targetType === 'instance';

function check(request: Request, context: AwsContext): Fault | undefined {
  const { service } = request;
  const problem = annotationProblem(service) ?? subnetProblem(request, context);
  if (problem !== undefined) return fault('fairlead.dev/InvalidAnnotation', problem);
  const outside = rangesFault(service, context.settings);
  if (outside !== undefined) return outside;
  if ((service.spec.loadBalancerIP ?? '') !== '') {
    const message = 'AWS NLB has a host name and no fixed address: remove spec.loadBalancerIP';
    return fault('fairlead.dev/UnsupportedLoadBalancerIP', message);
  }
  if (service.spec.sessionAffinity === 'ClientIP' && request.l7.size > 0)
    return fault(
      'fairlead.dev/UnsupportedAffinity',
      'AWS NLB does not support session affinity on ports that terminate TLS',
    );
  if (!request.families.includes('IPv4'))
    return fault(
      'fairlead.dev/UnsupportedFamily',
      'AWS NLB sends traffic to targets over IPv4: add IPv4 to spec.ipFamilies',
    );
  return (isToNodes(context) ? undefined : twinFault(request)) ?? changeFault(request, context);
}

/** Source ranges require a managed security group and must be CIDRs. */
function rangesFault(service: Service, { securityGroups }: Settings): Fault | undefined {
  const code = 'fairlead.dev/UnsupportedSourceRanges';
  const ranges = narrowRanges(service);
  const wrong = ranges.find((range) => canonicalCidr(range) === undefined);
  if (wrong !== undefined) return fault(code, `"${wrong}" is not a source range: expected a CIDR such as 192.0.2.0/24`);
  if (ranges.length === 0 || securityGroups.length === 0) return undefined;
  const message = 'source ranges are not applied to named security groups: remove the ranges or the groups';
  return fault(code, message);
}

/** A listener for TCP and UDP has one target port. */
function twinFault({ ports }: Request): Fault | undefined {
  const targetOf = ({ targetPort, port }: Port): number | string => targetPort ?? port;
  const twin = ports.find((one) => ports.some((other) => other.port === one.port && targetOf(other) !== targetOf(one)));
  if (twin === undefined) return undefined;
  const message = `port ${twin.port} is one listener for TCP and UDP and needs the same target port for both`;
  return fault('fairlead.dev/NodePortMismatch', message);
}

function subnetProblem({ ports }: Request, { settings, balancer }: AwsContext): string | undefined {
  const { subnets, elasticAddresses, isDualStack } = settings;
  const [place, addresses, families] = ['subnets', 'eip-allocations', 'ip-address-type'].map(
    (word) => `service.beta.kubernetes.io/aws-load-balancer-${word}`,
  );
  if (subnets.length === 0 && balancer === undefined)
    return `no subnets: annotate the Service with ${place}, or pass --aws-subnets`;
  if (elasticAddresses.length > 0 && elasticAddresses.length !== subnets.length)
    return `annotation ${addresses} has ${elasticAddresses.length} addresses for ${subnets.length} subnets: expected one per subnet`;
  if (isDualStack && ports.some(({ protocol }) => protocol === 'UDP'))
    return `annotation ${families} is dualstack, which AWS NLB supports for UDP only with settings that are not available here`;
  return undefined;
}

/** Changes that require another load balancer, which would have another host name. */
function changeFault({ service, isInternal }: Request, { settings, balancer }: AwsContext): Fault | undefined {
  if (balancer === undefined) return undefined;
  const needsGroups = settings.securityGroups.length > 0 || narrowRanges(service).length > 0;
  const why =
    needsGroups && balancer.securityGroups.length === 0
      ? 'it was created without security groups'
      : whyFixed(balancer, settings, isInternal ? 'internal' : 'internet-facing');
  if (why === undefined) return undefined;
  const message = `AWS cannot change load balancer ${balancer.name} in this way: ${why}; delete the Service and create it again`;
  return fault('fairlead.dev/CannotChange', message);
}

function whyFixed(balancer: FoundBalancer, settings: Settings, scheme: string): string | undefined {
  if (balancer.scheme !== scheme) return `it is ${balancer.scheme}`;
  const isOther = settings.elasticAddresses.some((address) => !balancer.elasticAddresses.includes(address));
  return isOther ? 'it has other addresses' : undefined;
}
