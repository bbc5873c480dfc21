// Executes steps sequentially. Every step can be repeated: names of created resources are unique, and deleting a missing
// resource succeeds.
import { messageOf } from '../../../api/error-message.ts';
import type { Session } from './describe.ts';
import { balancerOf } from './describe.ts';
import { wrapError, isGone, isInvalidTarget } from './errors.ts';
import type { Found, FoundBalancer } from './found.ts';
import { asTags } from './names.ts';
import type { Step } from './steps.ts';
import { asTarget } from './targets.ts';

/** The result of the steps. */
export interface Executed {
  readonly balancer?: FoundBalancer;
  /** Target → why AWS rejected it. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Executes the steps. Rejects at the first failure; the next reconcile finds completed steps. */
export async function execute(session: Session, steps: readonly Step[], found: Found): Promise<Executed> {
  const executor = new Executor(session, found);
  for (const step of steps) {
    session.signal.throwIfAborted();
    try {
      await executor.execute(step);
    } catch (error) {
      throw wrapError(error, textOf(step));
    }
  }
  return { ...(executor.balancer === undefined ? {} : { balancer: executor.balancer }), refused: executor.refused };
}

type Creation = Extract<Step, { readonly call: 'CreateSecurityGroup' }>;

/** Executes steps and records the ARNs of created resources. */
class Executor {
  readonly #session: Session;
  /** Name → ARN. */
  readonly #groups: Map<string, string>;
  /** Name → ID. */
  readonly #securityGroups = new Map<string, string>();
  readonly refused = new Map<string, string>();
  balancer: FoundBalancer | undefined;

  constructor(session: Session, found: Found) {
    this.#session = session;
    this.balancer = found.balancer;
    if (found.securityGroup !== undefined) this.#securityGroups.set(found.securityGroup.name, found.securityGroup.id);
    this.#groups = new Map(found.groups.map(({ name, arn }) => [name, arn]));
  }

  async execute(step: Step): Promise<unknown> {
    const { elb, ec2, signal } = this.#session;
    const until = { abortSignal: signal };
    switch (step.call) {
      case 'CreateSecurityGroup':
        return this.#createSecurityGroup(step);
      case 'CreateTags':
        return ec2.addTags(step.id, step.tags, signal);
      case 'AuthorizeSecurityGroupIngress':
        return ec2.authorizeIngress(this.#securityGroup(step.group), step.rules, signal);
      case 'RevokeSecurityGroupIngress':
        return ec2.revokeIngress(this.#securityGroup(step.group), step.rules, signal);
      case 'DeleteSecurityGroup':
        return ignoreNotFound(ec2.deleteSecurityGroup(step.id, signal));
      case 'CreateLoadBalancer': {
        const SecurityGroups = step.input.SecurityGroups?.map((name) => this.#securityGroup(name));
        const { LoadBalancers: [made] = [] } = await elb.createLoadBalancer({ ...step.input, SecurityGroups }, until);
        this.balancer = made === undefined ? undefined : balancerOf(made, {}, {});
        return;
      }
      case 'SetSubnets':
        return elb.setSubnets({ ...this.#ofBalancer(), ...step.input }, until);
      case 'SetSecurityGroups': {
        const SecurityGroups = step.groups.map((name) => this.#securityGroup(name));
        return elb.setSecurityGroups({ ...this.#ofBalancer(), SecurityGroups }, until);
      }
      case 'SetIpAddressType':
        return elb.setIpAddressType({ ...this.#ofBalancer(), IpAddressType: step.addressType }, until);
      case 'AddTags':
        return elb.addTags({ ResourceArns: [step.arn], Tags: asTags(step.tags) }, until);
      case 'ModifyLoadBalancerAttributes': {
        const Attributes = asTags(step.attributes);
        return elb.modifyLoadBalancerAttributes({ ...this.#ofBalancer(), Attributes }, until);
      }
      case 'CreateTargetGroup': {
        const { TargetGroups: [made] = [] } = await elb.createTargetGroup(
          { ...step.input, VpcId: this.#existing().vpc },
          until,
        );
        this.#groups.set(step.input.Name ?? '', made?.TargetGroupArn ?? '');
        return;
      }
      case 'ModifyTargetGroup':
        return elb.modifyTargetGroup({ ...this.#ofGroup(step.group), ...step.input }, until);
      case 'ModifyTargetGroupAttributes': {
        const Attributes = asTags(step.attributes);
        return elb.modifyTargetGroupAttributes({ ...this.#ofGroup(step.group), Attributes }, until);
      }
      case 'RegisterTargets':
        return this.#register(step.group, step.targets);
      case 'DeregisterTargets': {
        const Targets = step.targets.map(asTarget);
        return elb.deregisterTargets({ ...this.#ofGroup(step.group), Targets }, until);
      }
      case 'CreateListener': {
        const DefaultActions = this.#forward(step.group);
        return elb.createListener({ ...this.#ofBalancer(), ...step.input, DefaultActions }, until);
      }
      case 'ModifyListener':
        return elb.modifyListener({ ...step.input, DefaultActions: this.#forward(step.group) }, until);
      case 'DeleteListener':
        return ignoreNotFound(elb.deleteListener({ ListenerArn: step.arn }, until));
      case 'DeleteLoadBalancer':
        return ignoreNotFound(elb.deleteLoadBalancer({ LoadBalancerArn: step.arn }, until));
      case 'DeleteTargetGroup':
        return ignoreNotFound(elb.deleteTargetGroup({ TargetGroupArn: step.arn }, until));
    }
  }

  async #createSecurityGroup({ group: name, description, subnet, tags }: Creation): Promise<void> {
    const { ec2, signal } = this.#session;
    const vpc = this.balancer?.vpc ?? (await ec2.vpcOf(subnet, signal));
    this.#securityGroups.set(name, await ec2.createSecurityGroup({ name, description, vpc, tags }, signal));
  }

  /** The ID of the managed group, which is given by name; others are given by ID. */
  #securityGroup(name: string): string {
    return this.#securityGroups.get(name) ?? name;
  }

  /** AWS rejects a whole call because of one invalid target, such as a stopped instance. Then targets are registered one by one. */
  async #register(group: string, targets: readonly string[]): Promise<void> {
    const { elb, signal: abortSignal } = this.#session;
    const register = (some: readonly string[]): Promise<unknown> =>
      elb.registerTargets({ ...this.#ofGroup(group), Targets: some.map(asTarget) }, { abortSignal });
    try {
      await register(targets);
    } catch (error) {
      if (!isInvalidTarget(error)) throw error;
      for (const target of targets) {
        await register([target]).catch((why: unknown) => {
          if (!isInvalidTarget(why)) throw why;
          this.refused.set(target, messageOf(why));
        });
      }
    }
  }

  #existing(): FoundBalancer {
    if (this.balancer === undefined) throw new Error('bug: there is no load balancer to change');
    return this.balancer;
  }

  #ofBalancer(): { readonly LoadBalancerArn: string } {
    return { LoadBalancerArn: this.#existing().arn };
  }

  #ofGroup(name: string): { readonly TargetGroupArn: string } {
    const arn = this.#groups.get(name);
    if (arn === undefined) throw new Error(`bug: there is no target group "${name}"`);
    return { TargetGroupArn: arn };
  }

  #forward(group: string): { Type: 'forward'; TargetGroupArn: string }[] {
    return [{ Type: 'forward', ...this.#ofGroup(group) }];
  }
}

async function ignoreNotFound(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function textOf(step: Step): string {
  if ('arn' in step) return `${step.call} ${step.arn}`;
  if ('id' in step) return `${step.call} ${step.id}`;
  if ('group' in step) return `${step.call} ${step.group}`;
  return step.call;
}
