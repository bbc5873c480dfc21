import type { LoadBalancerStatus, Service } from '../../../api/kinds/core/service/schema.ts';
import type { PlannedEvent } from '../../../client/event-correlator.ts';
import type { Backends, Ensured, LoadBalancerProvider, ServiceIdentity } from '../../controller/provider.ts';
import { ensureResult, RetryError } from '../../controller/provider.ts';
import type { PriceBook } from '../../clouds/price/book.ts';
import type { Plan } from '../../clouds/plan.ts';
import { plan } from '../../clouds/plan.ts';
import { networkLoadBalancers, nlbProduct } from './cloud.ts';
import type { Aws } from './connect.ts';
import type { Session } from './describe.ts';
import { describe, owners } from './describe.ts';
import { wrapError, provisioningMs } from './errors.ts';
import type { Executed } from './execute.ts';
import { execute } from './execute.ts';
import type { Found, FoundBalancer, FoundGroup } from './found.ts';
import { asResources, isNothing, protocolsOf } from './found.ts';
import type { Owner } from './names.ts';
import { keepsSecurityGroup } from './security-group.ts';
import type { Settings } from './settings.ts';
import { settingsOf } from './settings.ts';
import type { Step } from './steps.ts';
import { removalSteps, stepsTo, targetSteps } from './steps.ts';
import { endpointTargets, instanceTargets } from './targets.ts';
import type { Wanted } from './wanted.ts';
import { wantedOf } from './wanted.ts';

export interface AwsOptions extends Aws {
  /** Tells load balancers of this cluster from those of others in the same account. */
  readonly cluster: string;
  /** For Services that name none. */
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly isMixingAllowed: boolean;
  /** Default: those of the book. */
  readonly prices?: PriceBook | undefined;
}

const protection = 'deletion_protection.enabled';

/**
 * Network load balancers of AWS. Nothing is remembered: every call looks at what is there, plans, and makes the
 * difference, so that it does not matter where the one before ended.
 */
export class AwsProvider implements LoadBalancerProvider {
  readonly name = 'aws';
  readonly classes = ['service.k8s.aws/nlb'];
  readonly #options: AwsOptions;

  constructor(options: AwsOptions) {
    this.#options = options;
  }

  async find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined> {
    return isNothing(await this.#describe(service, signal)) ? undefined : service.status.loadBalancer;
  }

  async ensure(service: Service, backends: Backends, signal: AbortSignal): Promise<Ensured> {
    const found = await this.#describe(service, signal);
    const { planned, wanted } = this.#plan(service, backends, found);
    const steps = wanted === undefined ? this.#targetSteps(service, backends, found) : stepsTo(wanted, found);
    const { balancer, refused } = await this.#execute(steps, found, signal);
    const events = [...planned.events, ...Array.from(refused, targetNotRegistered)];
    // A host name has no ipMode: the API takes one beside an address alone, and proxies leave a host name alone anyway.
    const places = balancer === undefined ? [] : [{ hostname: balancer.hostname }];
    // What is told of one that was made now would not be told by those who find it.
    if (planned.refusal === undefined) assertServes(balancer, found.balancer === undefined ? events : []);
    return ensureResult(places, { ...planned, events });
  }

  sendsToEndpoints(service: Service): boolean {
    return settingsOf(service).targetType === 'ip';
  }

  async updateBackends(service: Service, backends: Backends, signal: AbortSignal): Promise<void> {
    const found = await this.#describe(service, signal);
    await this.#execute(this.#targetSteps(service, backends, found), found, signal);
  }

  async remove(service: Service, signal: AbortSignal): Promise<void> {
    const found = await this.#describe(service, signal);
    assertUnprotected(found.balancer);
    await this.#execute(removalSteps(found), found, signal);
  }

  async list(signal: AbortSignal): Promise<readonly ServiceIdentity[]> {
    return this.#asked('looking for load balancers', () => owners(this.#session(signal), this.#options.cluster));
  }

  #describe(service: Service, signal: AbortSignal): Promise<Found> {
    return this.#asked('looking for the load balancer', () => describe(this.#session(signal), this.#ownerOf(service)));
  }

  /** What is wanted is known unless the plan is a refusal. */
  #plan(service: Service, backends: Backends, found: Found): { readonly planned: Plan; readonly wanted?: Wanted } {
    const { isMixingAllowed, prices } = this.#options;
    const { nodes } = backends;
    const settings = this.#settingsOf(service);
    const cloud = networkLoadBalancers({ settings, balancer: found.balancer });
    const existing = asResources(found);
    const planned = plan(cloud, {
      service,
      nodes,
      era: 'today',
      product: nlbProduct,
      isMixingAllowed,
      prices,
      existing,
    });
    if (planned.refusal !== undefined) return { planned };
    const isKept = keepsSecurityGroup(settings, found.balancer);
    const owner = this.#ownerOf(service);
    return {
      planned,
      wanted: wantedOf({ owner, service, backends, planned, settings, keepsSecurityGroup: isKept }),
    };
  }

  /** Groups of endpoints that the Service does not ask for any more stay as they are. */
  #targetSteps(service: Service, { nodes, slices }: Backends, found: Found): readonly Step[] {
    const { targetType, nodeLabels } = this.#settingsOf(service);
    const targetsOf = (group: FoundGroup): readonly string[] | undefined => {
      if (group.targetType === 'instance') return instanceTargets(nodes, nodeLabels);
      const [protocol = 'TCP'] = protocolsOf(group.protocol);
      return targetType === 'ip' ? endpointTargets(service, slices, { port: group.port, protocol }) : undefined;
    };
    return targetSteps(targetsOf, found);
  }

  /** What a Service does not say, flags do. */
  #settingsOf(service: Service): Settings {
    const settings = settingsOf(service);
    const { subnets, securityGroups } = this.#options;
    return {
      ...settings,
      subnets: settings.subnets.length > 0 ? settings.subnets : subnets,
      securityGroups: settings.securityGroups.length > 0 ? settings.securityGroups : securityGroups,
    };
  }

  #execute(steps: readonly Step[], found: Found, signal: AbortSignal): Promise<Executed> {
    return execute(this.#session(signal), steps, found);
  }

  #session(signal: AbortSignal): Session {
    const { elb, ec2 } = this.#options;
    return { elb, ec2, signal };
  }

  #ownerOf({ metadata: { namespace = '', name = '', uid = '' } }: Service): Owner {
    return { cluster: this.#options.cluster, namespace, name, uid };
  }

  async #asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw wrapError(error, what);
    }
  }
}

const targetNotRegistered = ([id, why]: readonly [string, string]): PlannedEvent => ({
  type: 'Warning',
  reason: 'TargetNotRegistered',
  message: `AWS does not send traffic to ${id}: ${why}`,
});

/** AWS would refuse to delete it only after its listeners went. */
function assertUnprotected(balancer: FoundBalancer | undefined): void {
  if (balancer?.attributes[protection] === 'true')
    throw new Error(
      `load balancer ${balancer.name} is not to be deleted: set its attribute ${protection} to false first`,
    );
}

/** A load balancer is written into the status when it serves; until then its time is waited for. */
function assertServes(
  balancer: FoundBalancer | undefined,
  events: readonly PlannedEvent[],
): asserts balancer is FoundBalancer {
  if (balancer === undefined) throw new Error('AWS made a load balancer and did not say which');
  const { name, state, reason } = balancer;
  if (state === 'provisioning') throw new RetryError(`AWS is setting up load balancer ${name}`, provisioningMs, events);
  if (state === 'failed')
    throw new Error(`AWS could not set up load balancer ${name}: ${reason || 'it does not say why'}`);
}
