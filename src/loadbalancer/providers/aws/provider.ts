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
import type { Desired } from './desired.ts';
import { desiredOf } from './desired.ts';

export interface AwsOptions extends Aws {
  /** Distinguishes clusters in the same account. */
  readonly cluster: string;
  /** Default subnets. */
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly isMixingAllowed: boolean;
  /** Default: list prices. */
  readonly prices?: PriceBook | undefined;
}

const protection = 'deletion_protection.enabled';

/**
 * Network load balancers of AWS. Stateless: every call reads the existing resources, plans, and applies the difference, so
 * that an interrupted call can be repeated.
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
    const { planned, desired } = this.#plan(service, backends, found);
    const steps = desired === undefined ? this.#targetSteps(service, backends, found) : stepsTo(desired, found);
    const { balancer, refused } = await this.#execute(steps, found, signal);
    const events = [...planned.events, ...Array.from(refused, targetNotRegistered)];
    // The API allows ipMode only with an address; proxies ignore host names.
    const addresses = balancer === undefined ? [] : [{ hostname: balancer.hostname }];
    // Emit Events only on creation; a later reconcile would repeat them.
    if (planned.refusal === undefined) assertServes(balancer, found.balancer === undefined ? events : []);
    return ensureResult(addresses, { ...planned, events });
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
    return this.#wrapped('listing load balancers', () => owners(this.#session(signal), this.#options.cluster));
  }

  #describe(service: Service, signal: AbortSignal): Promise<Found> {
    return this.#wrapped('finding the load balancer', () => describe(this.#session(signal), this.#ownerOf(service)));
  }

  /** `desired` is undefined if the plan is a refusal. */
  #plan(service: Service, backends: Backends, found: Found): { readonly planned: Plan; readonly desired?: Desired } {
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
      desired: desiredOf({ owner, service, backends, planned, settings, keepsSecurityGroup: isKept }),
    };
  }

  /** Target groups of endpoints that the Service no longer uses stay unchanged. */
  #targetSteps(service: Service, { nodes, slices }: Backends, found: Found): readonly Step[] {
    const { targetType, nodeLabels } = this.#settingsOf(service);
    const targetsOf = (group: FoundGroup): readonly string[] | undefined => {
      if (group.targetType === 'instance') return instanceTargets(nodes, nodeLabels);
      const [protocol = 'TCP'] = protocolsOf(group.protocol);
      return targetType === 'ip' ? endpointTargets(service, slices, { port: group.port, protocol }) : undefined;
    };
    return targetSteps(targetsOf, found);
  }

  /** Flags are defaults for annotations. */
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

  async #wrapped<T>(what: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
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

/** Checked first, because AWS rejects the deletion only after the listeners are deleted. */
function assertUnprotected(balancer: FoundBalancer | undefined): void {
  if (balancer?.attributes[protection] === 'true')
    throw new Error(
      `load balancer ${balancer.name} has deletion protection: set its attribute ${protection} to false first`,
    );
}

/** Throws until the load balancer is active, so that the status is written only then. */
function assertServes(
  balancer: FoundBalancer | undefined,
  events: readonly PlannedEvent[],
): asserts balancer is FoundBalancer {
  if (balancer === undefined) throw new Error('AWS created a load balancer but did not return it');
  const { name, state, reason } = balancer;
  if (state === 'provisioning')
    throw new RetryError(`AWS is provisioning load balancer ${name}`, provisioningMs, events);
  if (state === 'failed')
    throw new Error(`AWS could not set up load balancer ${name}: ${reason || 'no reason returned'}`);
}
