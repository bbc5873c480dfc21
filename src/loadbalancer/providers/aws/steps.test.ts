// The calls that change existing resources into desired ones, without AWS.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Found, FoundBalancer, FoundGroup, FoundListener, FoundSecurityGroup, Rule } from './found.ts';
import type { Step } from './steps.ts';
import { removalSteps, stepsTo, targetSteps } from './steps.ts';
import type { Desired, DesiredGroup, DesiredListener } from './desired.ts';

const nothing: Found = { groups: [], listeners: [] };

const tags = { team: 'dns' };
const health = { protocol: 'TCP', port: 'traffic-port' } as const;

/** A target group and a listener per port, written as `80/TCP`; the group has the name of the port. */
const desiredFor = (ports: string, changes: Partial<Desired> = {}): Desired => ({
  name: 'web',
  scheme: 'internal',
  addressType: 'ipv4',
  subnets: ['subnet-a'],
  elasticAddresses: [],
  securityGroups: [],
  tags,
  attributes: { 'load_balancing.cross_zone.enabled': 'false' },
  groups: ports.split(' ').map(desiredGroup),
  listeners: ports.split(' ').map(desiredListener),
  ...changes,
});

function desiredGroup(text: string): DesiredGroup {
  const { port, protocol } = desiredListener(text);
  const targets = ['i-1', 'i-2'];
  return { name: text, targetType: 'instance', protocol, port: 30_000 + port, health, attributes: {}, targets };
}

function desiredListener(text: string): DesiredListener {
  const [port = '', protocol = ''] = text.split('/');
  return { port: Number(port), protocol: protocol as DesiredListener['protocol'], group: text }; // a cast: tests use only these
}

const balancer: FoundBalancer = {
  arn: 'arn:web',
  name: 'web',
  hostname: 'web.elb.example.org',
  scheme: 'internal',
  vpc: 'vpc-1',
  addressType: 'ipv4',
  subnets: ['subnet-a'],
  elasticAddresses: [],
  securityGroups: [],
  state: 'active',
  reason: '',
  tags,
  attributes: { 'load_balancing.cross_zone.enabled': 'false' },
};

const foundGroup = (name: string, targets: readonly string[]): FoundGroup => ({
  arn: `arn:group:${name}`,
  name,
  targetType: 'instance',
  protocol: 'TCP',
  port: 30_080,
  health: { ...health, path: '', intervalSeconds: 30, timeoutSeconds: 10, healthyThreshold: 5, unhealthyThreshold: 2 },
  tags,
  attributes: {},
  targets,
});

const foundListener = (text: string): FoundListener => ({
  ...desiredListener(text),
  arn: `arn:listener:${text}`,
  group: `arn:group:${text}`,
  certificate: '',
  tlsPolicy: '',
});

/** The resources after `desiredFor` is applied. */
const foundFor = (ports: string, changes: Partial<Found> = {}): Found => ({
  balancer,
  groups: ports.split(' ').map((text) => foundGroup(text, ['i-1', 'i-2'])),
  listeners: ports.split(' ').map(foundListener),
  ...changes,
});

const rule = (port: number, source = '0.0.0.0/0'): Rule => ({ protocol: 'tcp', from: port, to: port, source });

/** Desired resources with a security group with these rules. */
const guarded = (...rules: readonly Rule[]): Partial<Desired> => ({
  securityGroups: ['web'],
  securityGroup: { name: 'web', description: 'clients of web', rules },
});

const guard = (...rules: readonly Rule[]): FoundSecurityGroup => ({ id: 'sg-1', name: 'web', rules, tags });
const behind = { ...balancer, securityGroups: ['sg-1'] };

/** A short text of a step. */
function words(step: Step): string {
  if (step.call === 'CreateTargetGroup') return `${step.call} ${step.input.Name}`;
  if (step.call === 'RegisterTargets' || step.call === 'DeregisterTargets')
    return `${step.call} ${step.group} ${step.targets.join(',')}`;
  if ('rules' in step)
    return `${step.call} ${step.rules.map(({ from, source }) => `${from} from ${source}`).join(', ')}`;
  if (step.call === 'SetSecurityGroups') return `${step.call} ${step.groups.join()}`;
  if ('group' in step) return `${step.call} ${step.group}`;
  if ('id' in step) return `${step.call} ${step.id}`;
  return 'arn' in step ? `${step.call} ${step.arn}` : step.call;
}

const cases: readonly (readonly [string, readonly Step[], readonly string[]])[] = [
  [
    'nothing is there: the load balancer, groups with their nodes, and only then the ports',
    stepsTo(desiredFor('80/TCP 81/UDP'), nothing),
    [
      'CreateLoadBalancer',
      'CreateTargetGroup 80/TCP',
      'CreateTargetGroup 81/UDP',
      'RegisterTargets 80/TCP i-1,i-2',
      'RegisterTargets 81/UDP i-1,i-2',
      'CreateListener 80/TCP',
      'CreateListener 81/UDP',
    ],
  ],
  ['everything is up to date', stepsTo(desiredFor('80/TCP 81/UDP'), foundFor('80/TCP 81/UDP')), []],
  [
    'a replaced port: opens the new one before it closes the old one, and keeps the load balancer',
    stepsTo(desiredFor('443/TCP'), foundFor('80/TCP')),
    [
      'CreateTargetGroup 443/TCP',
      'RegisterTargets 443/TCP i-1,i-2',
      'CreateListener 443/TCP',
      'DeleteListener arn:listener:80/TCP',
      'DeleteTargetGroup arn:group:80/TCP',
    ],
  ],
  [
    'a second protocol on a port: modifies the listener',
    stepsTo(desiredFor('53/TCP_UDP'), foundFor('53/TCP')),
    [
      'CreateTargetGroup 53/TCP_UDP',
      'RegisterTargets 53/TCP_UDP i-1,i-2',
      'ModifyListener 53/TCP_UDP',
      'DeleteTargetGroup arn:group:53/TCP',
    ],
  ],
  [
    'changed nodes: registers new ones before it deregisters old ones',
    stepsTo(
      desiredFor('80/TCP', { groups: [{ ...desiredGroup('80/TCP'), targets: ['i-2', 'i-3'] }] }),
      foundFor('80/TCP'),
    ),
    ['RegisterTargets 80/TCP i-3', 'DeregisterTargets 80/TCP i-1'],
  ],
  [
    'a crash left a load balancer and a group without a listener',
    stepsTo(desiredFor('80/TCP'), foundFor('80/TCP', { groups: [foundGroup('80/TCP', [])], listeners: [] })),
    ['RegisterTargets 80/TCP i-1,i-2', 'CreateListener 80/TCP'],
  ],
  [
    'all settings of the load balancer changed',
    stepsTo(
      desiredFor('80/TCP', {
        addressType: 'dualstack',
        subnets: ['subnet-a', 'subnet-b'],
        securityGroups: ['sg-2'],
        tags: { team: 'web' },
        attributes: { 'load_balancing.cross_zone.enabled': 'true' },
      }),
      foundFor('80/TCP', { balancer: { ...balancer, securityGroups: ['sg-1'] } }),
    ),
    [
      'SetSubnets',
      'SetSecurityGroups sg-2',
      'SetIpAddressType',
      'ModifyLoadBalancerAttributes',
      'AddTags arn:web',
      'AddTags arn:group:80/TCP',
    ],
  ],
  [
    'ignores the order of subnets',
    stepsTo(
      desiredFor('80/TCP', { subnets: ['subnet-b', 'subnet-a'] }),
      foundFor('80/TCP', { balancer: { ...balancer, subnets: ['subnet-a', 'subnet-b'] } }),
    ),
    [],
  ],
  ['keeps the subnets if none are given', stepsTo(desiredFor('80/TCP', { subnets: [] }), foundFor('80/TCP')), []],
  [
    'creates a managed security group with its rules first',
    stepsTo(desiredFor('80/TCP', guarded(rule(80))), nothing).slice(0, 3),
    ['CreateSecurityGroup web', 'AuthorizeSecurityGroupIngress 80 from 0.0.0.0/0', 'CreateLoadBalancer'],
  ],
  [
    'a crash left a security group without rules',
    stepsTo(desiredFor('80/TCP', guarded(rule(80))), { ...nothing, securityGroup: guard() }).slice(0, 2),
    ['AuthorizeSecurityGroupIngress 80 from 0.0.0.0/0', 'CreateLoadBalancer'],
  ],
  [
    'a security group is up to date',
    stepsTo(
      desiredFor('80/TCP', guarded(rule(80))),
      foundFor('80/TCP', { balancer: behind, securityGroup: guard(rule(80)) }),
    ),
    [],
  ],
  [
    'changed ports: authorizes clients before it opens a port, and revokes them after it closes one',
    stepsTo(
      desiredFor('443/TCP', guarded(rule(443))),
      foundFor('80/TCP', { balancer: behind, securityGroup: guard(rule(80)) }),
    ),
    [
      'AuthorizeSecurityGroupIngress 443 from 0.0.0.0/0',
      'CreateTargetGroup 443/TCP',
      'RegisterTargets 443/TCP i-1,i-2',
      'CreateListener 443/TCP',
      'DeleteListener arn:listener:80/TCP',
      'DeleteTargetGroup arn:group:80/TCP',
      'RevokeSecurityGroupIngress 80 from 0.0.0.0/0',
    ],
  ],
  [
    'changed source ranges',
    stepsTo(
      desiredFor('80/TCP', guarded(rule(80, '192.0.2.0/24'))),
      foundFor('80/TCP', { balancer: behind, securityGroup: guard(rule(80), { ...rule(22), to: 23 }) }),
    ),
    [
      'AuthorizeSecurityGroupIngress 80 from 192.0.2.0/24',
      'RevokeSecurityGroupIngress 80 from 0.0.0.0/0, 22 from 0.0.0.0/0',
    ],
  ],
  [
    'named groups replace the managed one, which is deleted afterwards',
    stepsTo(
      desiredFor('80/TCP', { securityGroups: ['sg-2'] }),
      foundFor('80/TCP', { balancer: behind, securityGroup: guard(rule(80)) }),
    ),
    ['SetSecurityGroups sg-2', 'DeleteSecurityGroup sg-1'],
  ],
  [
    'the managed group replaces named ones',
    stepsTo(desiredFor('80/TCP', guarded(rule(80))), foundFor('80/TCP', { balancer: behind })),
    ['CreateSecurityGroup web', 'AuthorizeSecurityGroupIngress 80 from 0.0.0.0/0', 'SetSecurityGroups web'],
  ],
  [
    'a changed health check and attribute of a group',
    stepsTo(
      desiredFor('80/TCP', {
        groups: [{ ...desiredGroup('80/TCP'), health: { ...health, port: '8080' }, attributes: { x: 'true' } }],
      }),
      foundFor('80/TCP'),
    ),
    ['ModifyTargetGroup 80/TCP', 'ModifyTargetGroupAttributes 80/TCP'],
  ],
  [
    'a changed certificate',
    stepsTo(
      desiredFor('443/TLS', { listeners: [{ ...desiredListener('443/TLS'), certificate: 'arn:new' }] }),
      foundFor('443/TLS', { listeners: [{ ...foundListener('443/TLS'), certificate: 'arn:old' }] }),
    ),
    ['ModifyListener 443/TLS'],
  ],
  [
    'after a refused change: only targets, and only of groups in use',
    targetSteps(({ name }) => (name === '80/TCP' ? ['i-3'] : undefined), foundFor('80/TCP 81/UDP')),
    ['RegisterTargets 80/TCP i-3', 'DeregisterTargets 80/TCP i-1,i-2'],
  ],
  [
    'deletes everything',
    removalSteps(foundFor('80/TCP', { securityGroup: guard(rule(80)) })),
    [
      'DeleteListener arn:listener:80/TCP',
      'DeleteLoadBalancer arn:web',
      'DeleteTargetGroup arn:group:80/TCP',
      'DeleteSecurityGroup sg-1',
    ],
  ],
];
for (const [name, steps, want] of cases) {
  test(name, () =>
    assert.deepEqual(
      steps.map((step) => words(step)),
      want,
    ),
  );
}

test('no call has more than 200 targets', () => {
  const targets = Array.from({ length: 450 }, (_, number) => `i-${number}`);
  const counts = targetSteps(() => targets, foundFor('80/TCP', { groups: [foundGroup('80/TCP', [])] })).map((step) =>
    step.call === 'RegisterTargets' ? step.targets.length : 0,
  );
  assert.deepEqual(counts, [200, 200, 50]);
});
