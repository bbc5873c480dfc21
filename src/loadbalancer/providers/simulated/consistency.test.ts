// LB-22 with the running controller: for every product a Service is set up as specified, or refused in status, conditions
// and Events. The state of the cloud is checked after every call, not only at the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { CloudLoadBalancer } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { cloudLoadBalancerKind } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { Informer } from '../../../client/informer.ts';
import { testServer } from '../../../server/testing/server.ts';
import { until } from '../../../server/testing/until.ts';
import type { TestCluster } from '../../testing/cluster.ts';
import { clusterOf } from '../../testing/cluster.ts';
import type { Cloud } from '../../clouds/cloud.ts';
import { clouds } from '../../clouds/clouds.ts';
import { policyAnnotation } from '../../clouds/evaluate.ts';
import type { Plan } from '../../clouds/plan.ts';
import { productsOf, plan } from '../../clouds/plan.ts';
import { openPorts } from '../../clouds/resource.ts';
import { resourcesOf } from './account.ts';
import { immediateClock, resourcesText, seeded } from './testing/storm.ts';

interface Subject {
  readonly name: string;
  readonly ports: string;
  /** Its ports before the change; undefined: it is new. */
  readonly before?: string;
  readonly policy?: string;
}

const subjects: readonly Subject[] = [
  { name: 'new-numbers', ports: '80/TCP 81/UDP' },
  { name: 'new-number', ports: '53/TCP 53/UDP' },
  { name: 'new-three', ports: '53/TCP 53/UDP 9000/SCTP' },
  { name: 'new-udp', ports: '53/UDP' },
  { name: 'new-part', ports: '53/UDP 53/TCP 9000/SCTP', policy: 'best-effort' },
  { name: 'was-numbers', ports: '80/TCP 81/UDP', before: '80/TCP' },
  { name: 'was-number', ports: '53/TCP 53/UDP', before: '80/TCP' },
  { name: 'was-three', ports: '80/TCP 80/UDP 9000/SCTP', before: '80/TCP' },
  { name: 'was-udp', ports: '53/UDP', before: '80/TCP' },
  { name: 'was-part', ports: '53/UDP 80/TCP 9000/SCTP', before: '80/TCP', policy: 'best-effort' },
];

interface Environment {
  readonly how: string;
  readonly isGateOn: boolean;
  /** Fraction of failing calls to the cloud, some of them after execution. */
  readonly failures: number;
  /** Fraction of failing requests to the API server. */
  readonly lost: number;
}

const environments: readonly Environment[] = [
  { how: 'all well', isGateOn: true, failures: 0, lost: 0 },
  { how: 'the gate off', isGateOn: false, failures: 0, lost: 0 },
  { how: 'calls to both sides failing', isGateOn: true, failures: 0.2, lost: 0.1 },
  { how: 'the gate off and calls to both sides failing', isGateOn: false, failures: 0.2, lost: 0.1 },
];

/** Every product runs with and without failures; the default product runs with all four combinations. */
const rows = clouds.flatMap((cloud) =>
  productsOf(cloud, 'today').flatMap(({ name: product }, index) =>
    environments
      .filter((_, which) => index === 0 || which === 0 || which === 3)
      .map((around) => ({ cloud, product, around })),
  ),
);

/** A Service and its load balancer. */
interface Snapshot {
  readonly service: Service;
  readonly balancer: CloudLoadBalancer | undefined;
}

const openIn = (balancer: CloudLoadBalancer | undefined): ReadonlySet<string> => openPorts(resourcesOf(balancer));

/** The expected plan of a Service, given its previous ports. */
function planFor(
  service: Service,
  { before }: Subject,
  at: { cloud: Cloud; product: string; isGateOn: boolean },
): Plan {
  const common = { era: 'today', product: at.product, isMixingAllowed: at.isGateOn } as const;
  const first = {
    ...service,
    spec: { ...service.spec, ports: [{ name: 'tcp-80', port: 80, protocol: 'TCP' as const }] },
  };
  const existing = before === undefined ? [] : plan(at.cloud, { ...common, service: first }).resources;
  return plan(at.cloud, { ...common, service, existing });
}

/** Whether a condition is true. */
const isTrue = ({ status }: Service, type: string): boolean =>
  status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;

/** Whether status and conditions match the plan; false if there is no status yet. */
function isReported({ service }: Snapshot, planned: Plan): boolean {
  const [entry] = service.status.loadBalancer.ingress ?? [];
  const want = planned.ports.map(({ port, protocol, fault }) => `${port}/${protocol} ${fault?.code ?? ''}`);
  const has = (entry?.ports ?? []).map(({ port, protocol, error = '' }) => `${port}/${protocol} ${error}`);
  const problem = planned.refusal ?? planned.shortfall;
  return (
    has.join() === want.join() &&
    isTrue(service, 'LoadBalancerPortsError') === (problem !== undefined) &&
    isTrue(service, 'LoadBalancerMixedProtocolNotSupported') === (problem?.isAboutMixing === true)
  );
}

/** Compares the status with the resources. */
function holds({ service, balancer }: Snapshot, planned: Plan, { name, before }: Subject): void {
  const [entry] = service.status.loadBalancer.ingress ?? [];
  const served = (entry?.ports ?? []).filter(({ error }) => error === undefined);
  const ready = (entry?.portStatuses ?? []).filter((port) => port.ready === true);
  const textOf = ({ port, protocol }: { port?: number; protocol?: string }): string => `${port}/${protocol}`;
  assert.deepEqual(ready.map(textOf), served.map(textOf), `${name}: both forms have the same ports`);
  assert.equal(entry?.ip, balancer?.spec.address, `${name}: an address is that of a load balancer`);
  if (planned.refusal === undefined) {
    assert.deepEqual([...openIn(balancer)].toSorted(), served.map(textOf).toSorted(), `${name}: these are open`);
    assert.equal(resourcesText(resourcesOf(balancer)), resourcesText(planned.resources), `${name}: all of it is there`);
    return;
  }
  if (before === undefined) return assert.equal(balancer, undefined, `${name}: nothing was made`);
  assert.deepEqual([...openIn(balancer)], before.split(' '), `${name}: it has what it had`);
}

/** The history of the state of the cloud. */
class History {
  readonly #informer: Informer<CloudLoadBalancer>;
  readonly #gone = new Set<string>();
  readonly #seen: { readonly service: string; readonly revision: number; readonly open: ReadonlySet<string> }[] = [];

  constructor(cluster: TestCluster) {
    this.#informer = new Informer(cluster.user, cloudLoadBalancerKind);
    const note = (balancer: CloudLoadBalancer): void => {
      const revision = Number(balancer.metadata.resourceVersion);
      this.#seen.push({ service: balancer.spec.service.name, revision, open: openIn(balancer) });
    };
    this.#informer.subscribe({
      added: note,
      updated: note,
      deleted: ({ metadata }) => this.#gone.add(metadata.name ?? ''),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  /** Whether the deletion of all of these was observed, and so all earlier changes. */
  sawTheEndOf(balancers: readonly CloudLoadBalancer[]): boolean {
    return balancers.every(({ metadata }) => this.#gone.has(metadata.name ?? ''));
  }

  /** The open ports of a Service after each call up to a revision. */
  of(service: string, revision: number): readonly ReadonlySet<string>[] {
    return this.#seen.filter((each) => each.service === service && each.revision <= revision).map(({ open }) => open);
  }
}

/** Asserts that no call opened an unrequested port or closed a remaining one. */
function heldAllAlong(
  opened: readonly ReadonlySet<string>[],
  planned: Plan,
  { name, ports, before = '' }: Subject,
): void {
  if (planned.refusal !== undefined && before === '')
    return assert.deepEqual(opened, [], `${name}: nothing was ever made`);
  const allowed = new Set([...before.split(' '), ...(planned.refusal === undefined ? ports.split(' ') : [])]);
  for (const open of opened) assert.ok(open.isSubsetOf(allowed), `${name}: ${[...open].join(' ')} was open`);
  const after = openPorts(planned.resources);
  const stays = before.split(' ').filter((port) => after.has(port));
  if (stays.length === 0) return;
  const first = opened.findIndex((open) => stays.every((port) => open.has(port)));
  assert.notEqual(first, -1, `${name}: ${stays.join(' ')} was open`);
  for (const open of opened.slice(first))
    assert.ok(
      stays.every((port) => open.has(port)),
      `${name}: ${stays.join(' ')} stays`,
    );
}

async function sightOf(cluster: TestCluster, name: string): Promise<Snapshot> {
  const service = (await cluster.get(name)) ?? assert.fail(name);
  return { service, balancer: (await cluster.balancers()).find(({ spec }) => spec.service.name === name) };
}

for (const { cloud, product, around } of rows) {
  const { how, isGateOn, failures, lost } = around;
  test(`LB-22 ${cloud.name}/${product}, ${how}: Services are served or refused, never in between, and leave nothing behind`, async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    const stop = new AbortController();
    const history = new History(cluster);
    const following = history.run(stop.signal);
    await history.synced(stop.signal);
    const random = seeded(rows.length);
    await using running = cluster.start(
      {
        simulation: { cloud: cloud.name, product, era: 'today', failures },
        gates: { enabled: () => isGateOn },
        clock: immediateClock,
        random,
      },
      ({ method }) => {
        if (method !== 'GET' && random() < lost) throw new Error('the connection is lost (the test)');
      },
    );
    await running.ready;
    for (const { name, ports, before = ports, policy } of subjects)
      await cluster.create(before, {
        name,
        ...(policy === undefined ? {} : { annotations: { [policyAnnotation]: policy } }),
      });
    for (const { name, ports } of subjects.filter(({ before }) => before !== undefined)) {
      await until(`${name} has an address`, () => cluster.address(name));
      await cluster.setPorts(name, ports);
    }
    const plans = new Map<string, Plan>();
    for (const subject of subjects) {
      const { name } = subject;
      const planned = planFor((await sightOf(cluster, name)).service, subject, { cloud, product, isGateOn });
      plans.set(name, planned);
      await until(`${name} is reported`, async () => isReported(await sightOf(cluster, name), planned));
      holds(await sightOf(cluster, name), planned, subject);
      const problem = planned.refusal ?? planned.shortfall;
      if (problem === undefined || failures > 0) continue; // Events of an object with many failures are rate limited
      await until(`${name} has its Events`, async () => (await cluster.reasons(name)).includes(problem.reason));
      const isFailure = (await cluster.reasons(name)).includes('SyncLoadBalancerFailed');
      if (planned.shortfall !== undefined)
        assert.equal(isFailure, false, `${name}: a requested partial set-up is no failure`);
    }
    const { resourceVersion, items } = await cluster.user.list(cloudLoadBalancerKind);
    await Promise.all(subjects.map(({ name }) => cluster.delete(name)));
    await until('nothing is left', async () => (await cluster.balancers()).length === 0);
    await until('its end was seen', () => history.sawTheEndOf(items));
    for (const { name } of subjects)
      await until(`${name} is gone`, async () => (await cluster.get(name)) === undefined);
    stop.abort();
    await following;
    for (const subject of subjects)
      heldAllAlong(
        history.of(subject.name, Number(resourceVersion)),
        plans.get(subject.name) ?? assert.fail(subject.name),
        subject,
      );
  });
}
