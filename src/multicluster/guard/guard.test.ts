import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { merge } from '../merge/merge.ts';
import { serviceExport, endpoint, member, record, superclusterExport, sourceSlice, web } from '../testing/records.ts';
import { AcceptedSlices, addressProblem } from './addresses.ts';
import type { GuardContext } from './guard.ts';
import { guard } from './guard.ts';
import { identityProblems } from './identity.ts';
import { isReservedKey } from './metadata.ts';
import type { MemberPolicy } from './policy.ts';
import { endpointRangesOf } from './policy.ts';
import { overQuota } from './quotas.ts';

describe('guard', () => {
  const rows: readonly {
    readonly name: string;
    readonly policy: MemberPolicy;
    readonly context?: GuardContext;
    readonly denial: string | undefined;
  }[] = [
    { name: 'MCS-31 accepts every namespace without a policy', policy: {}, denial: undefined },
    { name: 'accepts an allowed namespace', policy: { namespaces: ['shop'] }, denial: undefined },
    {
      name: 'denies a namespace that is not allowed',
      policy: { namespaces: ['payments'] },
      denial: 'NamespaceNotAllowed',
    },
    {
      name: 'denies a denied namespace',
      policy: { deniedNamespaces: ['kube-system', 'shop'] },
      denial: 'NamespaceNotAllowed',
    },

    {
      name: 'denies an export over the quota',
      policy: {},
      context: { quotaDenial: { reason: 'QuotaExceeded', message: 'too many' } },
      denial: 'QuotaExceeded',
    },
  ];
  for (const { name, policy, context, denial } of rows) {
    test(name, () => {
      const given = record('west');
      const guarded = guard(given, policy, context);
      assert.equal(guarded.record.denial?.reason, denial);
      const { views, exporters } = merge(web, [guarded.record]);
      assert.equal(views.clusterset === undefined, denial !== undefined);
      assert.equal(exporters[0]?.verdict.state, denial === undefined ? 'valid' : 'invalid');
      // What is fine is passed on as it is.
      if (denial === undefined) assert.equal(guarded.record, given);
      else assert.deepEqual([guarded.record.slices, guarded.dropped[0]?.what], [[], 'export']);
    });
  }
});

describe('addresses', () => {
  const ranges = endpointRangesOf(['10.1.0.0/16', 'fd00:1::/32']);
  const rows: readonly (readonly [string, boolean, boolean])[] = [
    // address, accepted without ranges, accepted with them
    ['10.1.2.3', true, true],
    ['10.2.0.1', true, false],
    ['fd00:1::7', true, true],
    ['2001:db8::1', true, false],
    ['127.0.0.1', false, false],
    ['::1', false, false],
    ['::', false, false],
    ['0.0.0.0', false, false],
    ['169.254.169.254', false, false],
    ['fd00:ec2::254', false, false],
    ['fe80::1', false, false],
    ['224.0.0.1', false, false],
    ['255.255.255.255', false, false],
    ['ff02::1', false, false],
    ['::ffff:127.0.0.1', false, false],
    ['example.org', true, false],
  ];
  for (const [address, isAcceptedAnywhere, isAcceptedInRanges] of rows) {
    test(address, () => {
      assert.equal(addressProblem(address, { declared: undefined }) === undefined, isAcceptedAnywhere);
      assert.equal(addressProblem(address, { declared: ranges }) === undefined, isAcceptedInRanges);
    });
  }

  test('drops and reports endpoints outside the ranges, and keeps the rest of the slice', () => {
    const slices = [
      sourceSlice('a', { endpoints: [endpoint('10.1.0.1'), endpoint('169.254.169.254')] }),
      sourceSlice('b'),
    ];
    const { record: kept, dropped } = guard(record('west', { slices }), {});
    assert.deepEqual(kept.slices[0]?.endpoints, [endpoint('10.1.0.1')]);
    assert.equal(kept.slices[1], slices[1]);
    assert.deepEqual(dropped, [
      {
        cluster: 'west',
        namespace: 'shop',
        name: 'web',
        what: 'endpoint',
        message: 'endpoint 169.254.169.254 cannot be in another cluster',
      },
    ]);
  });

  test('caches the result of a slice, including its problems', () => {
    const cache = new AcceptedSlices();
    const given = record('west', { slices: [sourceSlice('a', { endpoints: [endpoint('127.0.0.1')] })] });
    const [first, second] = [guard(given, {}, { cache }), guard(given, {}, { cache })];
    assert.deepEqual(first, second);
    assert.equal(first.record.slices[0], second.record.slices[0]);
  });

  test('accepts a declared loopback range', () => {
    assert.equal(addressProblem('127.192.0.5', { declared: endpointRangesOf(['127.192.0.0/16']) }), undefined);
  });

  test('rejects an invalid range', () => {
    assert.throws(() => endpointRangesOf(['10.0.0.0']), /endpoint range "10.0.0.0" is not a CIDR/);
  });
});

describe('labels and annotations', () => {
  for (const [key, isReserved] of Object.entries({
    team: false,
    'example.org/team': false,
    'notk8s.io/x': false,
    'kubernetes.io/service-name': true,
    'endpointslice.kubernetes.io/managed-by': true,
    'multicluster.x-k8s.io/x': true,
    'service.beta.kubernetes.io/aws-load-balancer-type': true,
    'networking.gke.io/load-balancer-type': true,
    'metallb.universe.tf/address-pool': true,
    'io.cilium/lb-ipam-ips': true,
    'fairlead.dev/region': true,
    'K8S.IO/x': true,
  })) {
    test(`${key} is ${isReserved ? '' : 'not '}reserved`, () => assert.equal(isReservedKey(key), isReserved));
  }

  test('drops and reports reserved keys', () => {
    const spec = {
      exportedLabels: { team: 'a', 'kubernetes.io/x': 'b' },
      exportedAnnotations: { 'service.kubernetes.io/topology-mode': 'auto' },
    };
    const { record: kept, dropped } = guard(record('west', { serviceExport: serviceExport({}, spec) }), {});
    assert.deepEqual(kept.serviceExport?.spec, { exportedLabels: { team: 'a' }, exportedAnnotations: {} });
    assert.deepEqual(
      dropped.map(({ what }) => what),
      ['label', 'annotation'],
    );
  });
});

describe('quotas', () => {
  const exported = (name: string, day: number, endpoints: number) => {
    const creationTimestamp = `2026-01-0${day}T00:00:00Z`;
    const all = Array.from({ length: endpoints }, (_, index) => endpoint(`10.0.0.${index + 1}`));
    return {
      ...record('west', { slices: [sourceSlice('a', { endpoints: all })] }),
      name,
      superclusterExport: superclusterExport({ creationTimestamp }),
      serviceExport: undefined,
    };
  };
  const records = [exported('new', 3, 1), exported('old', 1, 4), exported('middle', 2, 3)];

  for (const { name, policy, over } of [
    { name: 'accepts everything without quotas', policy: {}, over: [] },
    { name: 'accepts the oldest exports', policy: { maxExports: 2 }, over: ['shop/new'] },
    {
      name: 'skips a service that is too large and accepts a smaller one',
      policy: { maxEndpoints: 5 },
      over: ['shop/middle'],
    },
  ]) {
    test(name, () => {
      assert.deepEqual([...overQuota(records, policy).keys()], over);
      assert.deepEqual([...overQuota(records.toReversed(), policy).keys()], over);
    });
  }

  test('does not count an export that is being deleted', () => {
    const going = {
      ...exported('gone', 1, 1),
      superclusterExport: superclusterExport({ deletionTimestamp: '2026-02-01T00:00:00Z' }),
    };
    assert.deepEqual([...overQuota([going, ...records], { maxExports: 3 }).keys()], []);
  });

  test('keeps the slices of a service that fit into its quota, in order of their names', () => {
    const slices = ['c', 'a', 'b'].map((name) =>
      sourceSlice(name, { endpoints: [endpoint('10.0.0.1'), endpoint('10.0.0.2')] }),
    );
    const { record: kept, dropped } = guard(record('west', { slices }), { maxEndpointsPerService: 5 });
    assert.deepEqual(
      kept.slices.map(({ metadata }) => metadata.name),
      ['a', 'b'],
    );
    assert.match(dropped[0]?.message ?? '', /slice c is left out/);
  });
});

describe('MCS-3 identity', () => {
  const rows: readonly {
    readonly name: string;
    readonly members: readonly { readonly id: string; readonly uid?: string | undefined }[];
    readonly known?: ReadonlyMap<string, string>;
    readonly problem: RegExp | undefined;
  }[] = [
    { name: 'accepts different ids and clusters', members: [member('east'), member('west.eu')], problem: undefined },
    {
      name: 'rejects an id used twice',
      members: [member('east'), member('east', { uid: 'x' })],
      problem: /2 members have the id east/,
    },
    {
      name: 'rejects one cluster under two ids',
      members: [member('east'), member('west', { uid: 'east-uid' })],
      problem: /are one cluster/,
    },
    {
      name: 'rejects another cluster under a known id',
      members: [member('east')],
      known: new Map([['east', 'old-uid']]),
      problem: /was replaced/,
    },
    {
      name: 'accepts the same cluster again',
      members: [member('east')],
      known: new Map([['east', 'east-uid']]),
      problem: undefined,
    },
    {
      name: 'accepts a cluster whose uid is unknown',
      members: [{ id: 'east' }],
      known: new Map([['east', 'x']]),
      problem: undefined,
    },
    { name: 'rejects an invalid id', members: [{ id: 'East_1' }], problem: /cluster id "East_1" is invalid/ },
    {
      name: 'rejects an id that is too long for a label',
      members: [{ id: 'a'.repeat(64) }],
      problem: /no more than 63/,
    },
    { name: 'rejects an empty id', members: [{ id: '' }], problem: /is invalid/ },
  ];
  for (const { name, members, known, problem } of rows) {
    test(name, () => {
      const messages = identityProblems(members, known).map(({ message }) => message);
      if (problem === undefined) assert.deepEqual(messages, []);
      else assert.match(messages.join('\n'), problem);
    });
  }
});

test('T3 the addresses that other clusters use are checked, and Pods that only their own cluster uses are kept', () => {
  const slices = [sourceSlice('web-ipv4', { endpoints: [endpoint('169.254.169.254'), endpoint('203.0.113.5')] })];
  const given = record('east', { advertised: { mode: 'loadbalancer', slices } });
  const { record: kept, dropped } = guard(given, { endpointRanges: undefined });
  assert.deepEqual(kept.slices, given.slices);
  assert.deepEqual(
    kept.advertised?.slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    ['203.0.113.5'],
  );
  assert.match(dropped[0]?.message ?? '', /^endpoint 169\.254\.169\.254 cannot be in another cluster$/);
});
