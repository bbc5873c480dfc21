// An account with load balancers, listeners and target groups, and the AWS rules that matter here.
import type { BalancerRecord, GroupRecord, ListenerRecord, Slowness } from './records.ts';
import { SecurityGroups } from './security-groups.ts';
import type { Input } from './wire.ts';
import { ElbError, pairsIn, structures, text, texts } from './wire.ts';

/** Health check parameters with the AWS defaults. */
const healthDefaults: Readonly<Record<string, string>> = {
  HealthCheckProtocol: 'TCP',
  HealthCheckPort: 'traffic-port',
  HealthCheckPath: '',
  HealthCheckIntervalSeconds: '30',
  HealthCheckTimeoutSeconds: '10',
  HealthyThresholdCount: '5',
  UnhealthyThresholdCount: '2',
};

const arnStart = 'arn:aws:elasticloadbalancing:eu-central-1:123456789012';

export class Account {
  readonly balancers = new Map<string, BalancerRecord>();
  readonly groups = new Map<string, GroupRecord>();
  readonly securityGroups = new SecurityGroups((id) =>
    Array.from(this.balancers.values()).some(({ securityGroups }) => securityGroups.includes(id)),
  );
  /** Instances that are rejected as targets. */
  readonly stopped = new Set<string>();
  /** Ports that no call may close. */
  mustServe: readonly number[] = [];
  slowness: Slowness = { provisioning: 1, hidden: 0, inUse: 1 };
  #serial = 0;

  balancer(arn: string): BalancerRecord {
    const found = this.balancers.get(arn);
    if (found === undefined) throw new ElbError('LoadBalancerNotFound', `Load balancer '${arn}' not found`);
    return found;
  }

  group(arn: string): GroupRecord {
    const found = this.groups.get(arn);
    if (found === undefined) throw new ElbError('TargetGroupNotFound', `Target groups '${arn}' not found`);
    return found;
  }

  /** A listener and its load balancer. */
  listener(arn: string): { readonly listener: ListenerRecord; readonly balancer: BalancerRecord } {
    for (const balancer of this.balancers.values()) {
      const listener = balancer.listeners.get(arn);
      if (listener !== undefined) return { listener, balancer };
    }
    throw new ElbError('ListenerNotFound', `Listener '${arn}' not found`);
  }

  createBalancer(input: Input): BalancerRecord {
    const name = text(input, 'Name');
    checkName(name);
    if (text(input, 'Type') !== 'network') throw invalid('these records belong to network load balancers');
    const mappings = structures(input, 'SubnetMappings');
    const subnets = mappings.length > 0 ? mappings.map((each) => text(each, 'SubnetId')) : texts(input, 'Subnets');
    if (subnets.length === 0) throw new ElbError('ValidationError', 'At least one subnet must be specified');
    const scheme = text(input, 'Scheme');
    const old = Array.from(this.balancers.values()).find((each) => each.name === name);
    if (old !== undefined) {
      if (old.scheme === scheme && old.subnets.join() === subnets.join()) return old;
      throw new ElbError('DuplicateLoadBalancerName', `A load balancer with the same name '${name}' exists`);
    }
    this.securityGroups.assertThere(texts(input, 'SecurityGroups'));
    const made: BalancerRecord = {
      arn: `${arnStart}:loadbalancer/net/${name}/${this.#next()}`,
      name,
      scheme,
      subnets,
      allocations: mappings.map((each) => text(each, 'AllocationId')),
      securityGroups: texts(input, 'SecurityGroups'),
      addressType: text(input, 'IpAddressType') || 'ipv4',
      provisioning: this.slowness.provisioning,
      hidden: this.slowness.hidden,
      listeners: new Map(),
      attributes: new Map([
        ['load_balancing.cross_zone.enabled', 'false'],
        ['deletion_protection.enabled', 'false'],
      ]),
      tags: new Map(pairsIn(input, 'Tags')),
    };
    this.balancers.set(made.arn, made);
    return made;
  }

  deleteBalancer(arn: string): void {
    const balancer = this.balancers.get(arn);
    if (this.mustServe.length > 0) throw new ElbError('OperationNotPermitted', 'it is not to be deleted');
    if (balancer?.attributes.get('deletion_protection.enabled') === 'true')
      throw new ElbError('OperationNotPermitted', 'deletion protection is enabled');
    for (const { group } of balancer?.listeners.values() ?? []) this.#release(group);
    for (const id of balancer?.securityGroups ?? []) this.securityGroups.release(id, this.slowness.inUse);
    this.balancers.delete(arn);
  }

  createGroup(input: Input): GroupRecord {
    const name = text(input, 'Name');
    checkName(name);
    const [protocol, vpc, port] = [text(input, 'Protocol'), text(input, 'VpcId'), Number(text(input, 'Port'))];
    if (!protocols.includes(protocol)) throw invalid(`protocol '${protocol}' is not for network load balancers`);
    if (vpc === '' || !(port > 0)) throw new ElbError('ValidationError', 'A VPC ID and a port must be specified');
    const old = Array.from(this.groups.values()).find((each) => each.name === name);
    if (old !== undefined) {
      if (old.protocol === protocol && old.port === port && old.vpc === vpc) return old;
      throw new ElbError('DuplicateTargetGroupName', `A target group with the same name '${name}' exists`);
    }
    const made: GroupRecord = {
      arn: `${arnStart}:targetgroup/${name}/${this.#next()}`,
      name,
      protocol,
      port,
      targetType: text(input, 'TargetType'),
      vpc,
      health: new Map(Object.entries(healthDefaults)),
      targets: new Set(),
      draining: new Set(),
      attributes: new Map([
        ['stickiness.enabled', 'false'],
        ['proxy_protocol_v2.enabled', 'false'],
      ]),
      tags: new Map(pairsIn(input, 'Tags')),
      inUse: 0,
    };
    setHealth(made, input);
    this.groups.set(made.arn, made);
    return made;
  }

  deleteGroup(arn: string): void {
    const group = this.groups.get(arn);
    if (group === undefined) return;
    if (this.balancersOf(arn).length > 0 || group.inUse-- > 0)
      throw new ElbError('ResourceInUse', `Target group '${arn}' is currently in use by a listener or a rule`);
    this.groups.delete(arn);
  }

  /** The load balancers whose listeners send to a group. */
  balancersOf(group: string): readonly string[] {
    const isUser = ({ listeners }: BalancerRecord): boolean =>
      Array.from(listeners.values()).some((listener) => listener.group === group);
    return Array.from(this.balancers.values())
      .filter(isUser)
      .map(({ arn }) => arn);
  }

  createListener(input: Input): ListenerRecord {
    const balancer = this.balancer(text(input, 'LoadBalancerArn'));
    const port = Number(text(input, 'Port'));
    const desired = this.#checked(balancer, { port, ...listenerFields(input) });
    const old = Array.from(balancer.listeners.values()).find((each) => each.port === port);
    if (old !== undefined) {
      if (old.protocol === desired.protocol && old.group === desired.group) return old;
      throw new ElbError('DuplicateListener', `A listener already exists on this port for this load balancer`);
    }
    const made = { ...desired, arn: `${balancer.arn.replace(':loadbalancer/', ':listener/')}/${this.#next()}` };
    balancer.listeners.set(made.arn, made);
    return made;
  }

  modifyListener(input: Input): ListenerRecord {
    const { listener, balancer } = this.listener(text(input, 'ListenerArn'));
    const given = listenerFields(input);
    const next = this.#checked(balancer, {
      ...listener,
      protocol: given.protocol || listener.protocol,
      group: given.group || listener.group,
      certificate: given.certificate || listener.certificate,
      policy: given.policy || listener.policy,
    });
    const isTls = next.protocol === 'TLS';
    return Object.assign(listener, next, isTls ? {} : { certificate: '', policy: '' });
  }

  deleteListener(arn: string): void {
    const { listener, balancer } = this.listener(arn);
    if (this.mustServe.includes(listener.port))
      throw new ElbError('OperationNotPermitted', `port ${listener.port} is not to be closed`);
    balancer.listeners.delete(arn);
    this.#release(listener.group, 0);
  }

  register(input: Input): void {
    const group = this.group(text(input, 'TargetGroupArn'));
    const ids = targetsIn(group, input);
    const bad = ids.filter((id) => this.stopped.has(id));
    if (bad.length > 0)
      throw new ElbError('InvalidTarget', `The following targets are not in a running state: ${bad.join(', ')}`);
    for (const id of ids) {
      group.targets.add(id);
      group.draining.delete(id);
    }
  }

  deregister(input: Input): void {
    const group = this.group(text(input, 'TargetGroupArn'));
    for (const id of targetsIn(group, input)) {
      if (group.targets.delete(id)) group.draining.add(id);
    }
  }

  #checked<T extends Omit<ListenerRecord, 'arn'>>(balancer: BalancerRecord, listener: T): T {
    const { protocol, group, certificate } = listener;
    const behind = this.group(group).protocol;
    const isFit = protocol === 'TLS' ? behind === 'TCP' || behind === 'TLS' : behind === protocol;
    if (!protocols.includes(protocol) || !isFit)
      throw invalid(`listener protocol '${protocol}' does not go with target group protocol '${behind}'`);
    if (protocol === 'TLS' && certificate === '') throw new ElbError('CertificateNotFound', 'a TLS listener needs one');
    if (balancer.addressType === 'dualstack' && protocol.includes('UDP')) throw invalid('dualstack takes no UDP');
    const others = this.balancersOf(group).filter((arn) => arn !== balancer.arn);
    if (others.length > 0) throw new ElbError('TargetGroupAssociationLimit', 'it belongs to another load balancer');
    return listener;
  }

  #release(group: string, inUse = this.slowness.inUse): void {
    const record = this.groups.get(group);
    if (record !== undefined) record.inUse = inUse;
  }

  #next(): string {
    return (++this.#serial).toString(16).padStart(16, '0');
  }
}

const protocols = ['TCP', 'UDP', 'TCP_UDP', 'TLS'];

const invalid = (message: string): ElbError => new ElbError('InvalidConfigurationRequest', message);

function checkName(name: string): void {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/.test(name) || name.startsWith('internal-'))
    throw new ElbError('ValidationError', `The name '${name}' is not valid`);
}

/** Sets the given parameters of a health check. */
export function setHealth(group: GroupRecord, input: Input): void {
  const given = Object.keys(healthDefaults).filter((name) => text(input, name) !== '');
  const protocol = text(input, 'HealthCheckProtocol') || group.health.get('HealthCheckProtocol');
  if (!['TCP', 'HTTP', 'HTTPS'].includes(protocol ?? '')) throw invalid(`health checks are not made by '${protocol}'`);
  if (protocol === 'TCP' && given.includes('HealthCheckPath')) throw invalid('a path is for HTTP');
  for (const name of given) group.health.set(name, text(input, name));
}

function targetsIn({ targetType }: GroupRecord, input: Input): readonly string[] {
  return structures(input, 'Targets').map((target) => {
    const [id, port] = [text(target, 'Id'), text(target, 'Port')];
    if (id.startsWith('i-') !== (targetType === 'instance'))
      throw invalid(`'${id}' is no target of type ${targetType}`);
    return port === '' ? id : `${id}:${port}`;
  });
}

function listenerFields(input: Input): Omit<ListenerRecord, 'arn' | 'port'> {
  const [action = {}] = structures(input, 'DefaultActions');
  const [certificate = {}] = structures(input, 'Certificates');
  return {
    protocol: text(input, 'Protocol'),
    group: text(action, 'TargetGroupArn'),
    certificate: text(certificate, 'CertificateArn'),
    policy: text(input, 'SslPolicy'),
  };
}
