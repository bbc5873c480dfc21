import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Claim } from './claim.ts';
import type { Policy } from './changes.ts';
import { contentAfter } from './changes.ts';
import type { ZonePlan } from './zone-planner.ts';
import { desiredSets } from './desired.ts';
import type { RecordSet, ZoneContent } from './record-set.ts';
import { recordSet } from './record-set.ts';
import type { RegistryOptions } from './registry.ts';
import type { DomainFilter } from './zones.ts';
import { claim, lines, planZone, zoneOf } from './testing/objects.ts';

const plain: RegistryOptions = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };
const zone = 'example.org';

const own = (name: string, owner = 'me'): string =>
  `${name} 60 TXT "heritage=external-dns,external-dns/owner=${owner},external-dns/resource=service/default/shop"`;

const apex = `
  example.org 300 SOA ns.example.org. hostmaster.example.org. 1 2 3 4 5
  example.org 300 NS ns.example.org.`;

const setsOf = (text: string): readonly RecordSet[] => [...zoneOf(text).values()].flat();

interface Given {
  readonly claims?: readonly Claim[];
  readonly current?: string;
  readonly policy?: Policy;
  readonly registry?: Partial<RegistryOptions>;
  readonly allImports?: boolean;
}

function plan({
  claims = [],
  current = '',
  policy = 'sync',
  registry = {},
  allImports = false,
}: Given): ZonePlan & { readonly all: readonly string[] } {
  const options = { zones: [zone], filter: { include: [], exclude: [] }, registry: { ...plain, ...registry } };
  const desired = desiredSets(claims, options);
  const planned = planZone({
    zone,
    desired: desired.zones.get(zone) ?? new Map(),
    kept: { resources: desired.kept, allImports },
    content: zoneOf(apex + '\n' + current),
    registry: options.registry,
    policy,
  });
  return {
    ...planned,
    all: [...desired.refusals, ...planned.refusals].map(({ reason, message }) => `${reason}: ${message}`),
  };
}

/** What changes, as `+ set`, `- set` and `= set` for sets that must stay. */
const changes = ({ changes: all }: ZonePlan): readonly string[] =>
  all
    .flatMap(({ changes: sets }) => sets)
    .flatMap(({ before, after }) =>
      before === after
        ? lines(before === undefined ? [] : [before]).map((line) => `= ${line}`)
        : [
            ...lines(before === undefined ? [] : [before]).map((line) => `- ${line}`),
            ...lines(after === undefined ? [] : [after]).map((line) => `+ ${line}`),
          ],
    )
    .toSorted();

/** The content of a zone after a plan, as lines. */
const applied = (content: ZoneContent, { changes: all }: ZonePlan): string =>
  [...contentAfter(content, all).values()]
    .flat()
    .flatMap(({ name, ttl, type, values }) => values.map((value) => `${name} ${ttl} ${type} ${value}`))
    .join('\n');

const shop = 'shop.example.org 60 A 192.0.2.1';
const wantsShop = claim(setsOf(shop));
const srvTo = { ttl: 60, values: ['0 100 80 shop.example.org.'] };
const wantsAlias = claim(setsOf('shop.example.org 60 CNAME lb.example.net.'));

describe('changes of a zone', () => {
  const rows: readonly (Given & {
    readonly name: string;
    readonly want: readonly string[];
    readonly refusals?: readonly string[];
  })[] = [
    {
      name: 'creates a set with its registry record',
      claims: [wantsShop],
      want: [`+ ${shop}`, `+ ${own('a-shop.example.org')}`],
    },
    {
      name: 'does not change sets that are up to date',
      claims: [wantsShop],
      current: `${shop}\n${own('a-shop.example.org')}`,
      want: [],
    },
    {
      name: 'changes values under the condition that the owner is still the same',
      claims: [wantsShop],
      current: `shop.example.org 60 A 192.0.2.9\n${own('a-shop.example.org')}`,
      want: ['- shop.example.org 60 A 192.0.2.9', `+ ${shop}`, `= ${own('a-shop.example.org')}`],
    },
    {
      name: 'changes a TTL that was changed by hand',
      claims: [wantsShop],
      current: `shop.example.org 61 A 192.0.2.1\n${own('a-shop.example.org')}`,
      want: ['- shop.example.org 61 A 192.0.2.1', `+ ${shop}`, `= ${own('a-shop.example.org')}`],
    },
    {
      name: 'deletes owned sets that no object claims, with the registry record',
      current: `${shop}\n${own('a-shop.example.org')}\nwww.example.org 60 A 192.0.2.7`,
      want: [`- ${shop}`, `- ${own('a-shop.example.org')}`],
    },
    {
      name: 'restores a set that was deleted by hand',
      claims: [wantsShop],
      current: own('a-shop.example.org'),
      want: [`+ ${shop}`, `= ${own('a-shop.example.org')}`],
    },
    {
      name: 'leaves a set without an owner alone, and reports it',
      claims: [wantsShop],
      current: 'shop.example.org 60 A 192.0.2.9',
      want: [],
      refusals: ['NotOwned: A shop.example.org exists and has no owner, so it is not changed'],
    },
    {
      name: 'leaves a set of another owner alone, and reports it',
      claims: [wantsShop],
      current: `shop.example.org 60 A 192.0.2.9\n${own('a-shop.example.org', 'other')}`,
      want: [],
      refusals: ['NotOwned: A shop.example.org exists and belongs to owner "other", so it is not changed'],
    },
    {
      name: 'leaves a set alone whose registry record names two owners',
      current: `${shop}\n${own('a-shop.example.org')}\n${own('a-shop.example.org', 'other')}`,
      want: [],
    },
    {
      name: 'does not create a set whose registry record another owner has',
      claims: [wantsShop],
      current: own('a-shop.example.org', 'other'),
      want: [],
      refusals: ['NotOwned: A shop.example.org belongs to owner "other" (TXT a-shop.example.org)'],
    },
    {
      name: 'does not mix registry records with TXT records of others',
      claims: [wantsShop],
      current: 'a-shop.example.org 60 TXT "hello"',
      want: [],
      refusals: [
        'NotOwned: the registry record a-shop.example.org cannot be written: the name has other TXT records; choose a --txt-prefix',
      ],
    },
    {
      name: 'does not put an alias beside other data, which servers ignore without an error',
      claims: [wantsAlias],
      current: 'shop.example.org 60 MX 10 mail.example.org.',
      want: [],
      refusals: [
        'NotOwned: MX shop.example.org exists and has no owner, so it is not changed; an alias cannot be beside other records',
      ],
    },
    {
      name: 'does not put data beside the alias of another owner',
      claims: [wantsShop],
      current: 'shop.example.org 60 CNAME www.example.net.',
      want: [],
      refusals: [
        'NotOwned: CNAME shop.example.org exists and has no owner, so it is not changed; other records cannot be beside an alias',
      ],
    },
    {
      name: 'adds addresses beside data of other types',
      claims: [wantsShop],
      current: 'shop.example.org 60 MX 10 mail.example.org.',
      want: [`+ ${shop}`, `+ ${own('a-shop.example.org')}`],
    },
    {
      name: 'replaces its own address by an alias in one change',
      claims: [wantsAlias],
      current: `${shop}\n${own('a-shop.example.org')}`,
      want: [
        `- ${shop}`,
        `- ${own('a-shop.example.org')}`,
        '+ shop.example.org 60 CNAME lb.example.net.',
        `+ ${own('cname-shop.example.org')}`,
      ],
    },
    {
      name: 'replaces an address by an alias under upsert-only too',
      claims: [wantsAlias],
      policy: 'upsert-only',
      current: `${shop}\n${own('a-shop.example.org')}`,
      want: [
        `- ${shop}`,
        `- ${own('a-shop.example.org')}`,
        '+ shop.example.org 60 CNAME lb.example.net.',
        `+ ${own('cname-shop.example.org')}`,
      ],
    },
    {
      name: 'keeps what is published of an import while none of its clusters can be reached',
      claims: [claim([], { resource: 'serviceimport/default/shop', isKept: true })],
      current: `${shop}\n${own('a-shop.example.org')}`,
      want: [],
    },
    {
      name: 'keeps what is published of all imports while they cannot be read',
      allImports: true,
      current: `${shop}\n${own('a-shop.example.org').replace('service/', 'serviceimport/')}\nx.example.org 60 A 192.0.2.1\n${own('a-x.example.org')}`,
      want: ['- x.example.org 60 A 192.0.2.1', `- ${own('a-x.example.org')}`],
    },
    {
      name: 'deletes nothing under upsert-only',
      policy: 'upsert-only',
      current: `${shop}\n${own('a-shop.example.org')}`,
      want: [],
    },
    {
      name: 'updates nothing under create-only',
      policy: 'create-only',
      claims: [wantsShop],
      current: `shop.example.org 60 A 192.0.2.9\n${own('a-shop.example.org')}`,
      want: [],
    },
    {
      name: 'creates under create-only',
      policy: 'create-only',
      claims: [wantsShop],
      want: [`+ ${shop}`, `+ ${own('a-shop.example.org')}`],
    },
    {
      name: 'takes over the records of the owner to migrate from, without changing them',
      claims: [wantsShop],
      registry: { migrateFrom: 'default' },
      current: `${shop}\n${own('a-shop.example.org', 'default')}`,
      want: [`- ${own('a-shop.example.org', 'default')}`, `+ ${own('a-shop.example.org')}`, `= ${shop}`],
    },
    {
      name: 'adds a registry record with a type to a set that has one in the old format',
      claims: [wantsShop],
      current: `${shop}\n${own('shop.example.org')}`,
      want: [`+ ${own('a-shop.example.org')}`, `= ${shop}`],
    },
    {
      name: 'keeps keys of other programs in registry records',
      claims: [wantsShop],
      registry: { migrateFrom: 'default' },
      current: `${shop}\na-shop.example.org 60 TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=x,external-dns/zzz=1"`,
      want: [
        '- a-shop.example.org 60 TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=x,external-dns/zzz=1"',
        '+ a-shop.example.org 60 TXT "heritage=external-dns,external-dns/owner=me,external-dns/resource=x,external-dns/zzz=1"',
        `= ${shop}`,
      ],
    },
    {
      name: 'does not publish below a delegation, where other servers answer',
      claims: [claim(setsOf('a.sub.example.org 60 A 192.0.2.1'))],
      current: 'sub.example.org 60 NS ns.example.net.',
      want: [],
      refusals: ['NotOwned: a.sub.example.org is below NS sub.example.org, so other servers answer for it'],
    },
    {
      name: 'does not publish below a DNAME',
      claims: [claim(setsOf('a.sub.example.org 60 A 192.0.2.1'))],
      current: 'sub.example.org 60 DNAME example.net.',
      want: [],
      refusals: ['NotOwned: a.sub.example.org is below DNAME sub.example.org, so other servers answer for it'],
    },
  ];
  for (const { name, want, refusals = [], ...given } of rows) {
    test(name, () => {
      const result = plan(given);
      assert.deepEqual(changes(result), want.toSorted());
      assert.deepEqual(result.all, refusals);
      const content = zoneOf(`${apex}\n${given.current ?? ''}`);
      const again = plan({ ...given, current: applied(content, result).replaceAll(/^example\.org.*$/gm, '') });
      assert.deepEqual(changes(again), [], 'planning again after the changes gives none');
    });
  }

  test('a new name must still be unused when the change is applied, and no name an alias', () => {
    const current = 'shop.example.org 60 MX 10 mail.example.org.';
    const [change] = plan({ claims: [wantsShop], current }).changes;
    assert.deepEqual(change?.unused, ['a-shop.example.org']);
    assert.deepEqual(change?.noAlias, ['shop.example.org']);
  });

  test('SRV-10 an SRV record is published only if the host that it points to is ours', () => {
    const srv = { ...recordSet('_http._tcp.shop.example.org', 'SRV', srvTo), hostname: 'shop.example.org' };
    const claims = [claim([...setsOf(shop), srv])];
    const taken = plan({ claims, current: 'shop.example.org 60 A 192.0.2.9' });
    assert.deepEqual(changes(taken), []);
    assert.equal(taken.all.length, 1);
    const lost = plan({
      claims,
      current: `shop.example.org 60 A 192.0.2.9\n_http._tcp.shop.example.org 60 SRV 0 100 81 shop.example.org.\n${own('srv-_http._tcp.shop.example.org')}`,
    });
    assert.deepEqual(changes(lost), [], 'what was published before stays as it is');
    const foreign = own('srv-_http._tcp.shop.example.org', 'other');
    assert.deepEqual(
      changes(plan({ claims, current: foreign })),
      [`+ ${own('a-shop.example.org')}`, `+ ${shop}`],
      'the host does not depend on its SRV records',
    );
  });

  test('counts what it owns, and what belongs to others', () => {
    const current = `${shop}\n${own('a-shop.example.org')}\nwww.example.org 60 A 192.0.2.7`;
    const desired = [wantsShop, claim(setsOf('www.example.org 60 A 192.0.2.1'))];
    const { owned, ownerMismatches } = plan({ claims: desired, current });
    assert.deepEqual(
      [...owned, ...ownerMismatches],
      [
        ['A', 1],
        ['A', 1],
      ],
    );
  });

  test('a deletion is for the object that the registry names', () => {
    const [change] = plan({ current: `${shop}\n${own('a-shop.example.org')}` }).changes;
    assert.deepEqual([change?.kind, change?.resources], ['delete', ['service/default/shop']]);
  });
});

describe('desired sets', () => {
  const filter: DomainFilter = { include: [], exclude: [] };
  const options = { zones: ['example.org', 'sub.example.org'], filter, registry: plain };
  const wantedIn = (claims: readonly Claim[], more: Partial<typeof options> = {}) => {
    const { zones, refusals } = desiredSets(claims, { ...options, ...more });
    const sets = [...zones].flatMap(([name, names]) =>
      [...names.values()].flat().map(({ set, resource }) => `${name}: ${lines([set])[0]} ${resource}`),
    );
    return { sets: sets.toSorted(), refusals: refusals.map(({ reason, resource }) => `${reason} ${resource}`) };
  };
  const a = claim(setsOf('x.example.org 60 A 192.0.2.1'), { resource: 'service/default/a' });
  const b = claim(setsOf('x.example.org 30 A 192.0.2.2'), {
    resource: 'service/default/b',
    since: '2025-01-01T00:00:00Z',
  });

  test('targets of objects of one namespace are joined; the oldest is named, the lowest TTL holds', () => {
    assert.deepEqual(wantedIn([a, b]), {
      sets: ['example.org: x.example.org 30 A 192.0.2.1 | 192.0.2.2 service/default/b'],
      refusals: [],
    });
  });

  test('40,000 objects that share a name are joined without copying what was joined before', () => {
    const claims = Array.from({ length: 40_000 }, (_, index) =>
      claim(setsOf(`shop.example.org 60 A 10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`), {
        resource: `service/default/s-${index}`,
      }),
    );
    const [shared] = desiredSets(claims, options).zones.get('example.org')?.get('shop.example.org') ?? [];
    assert.deepEqual([shared?.set.values.length, shared?.resources.length], [40_000, 40_000]);
  });

  test('a name of another namespace is rejected, in any order', () => {
    const stranger = { ...a, namespace: 'other', resource: 'service/other/a' };
    const want = {
      sets: ['example.org: x.example.org 30 A 192.0.2.2 service/default/b'],
      refusals: ['HostnameTaken service/other/a'],
    };
    assert.deepEqual(wantedIn([stranger, b]), want);
    assert.deepEqual(wantedIn([b, stranger]), want);
  });

  test('records that belong to a host name are rejected with it, with one message', () => {
    const withSrv = (resource: string, namespace: string, hostname = 'x.example.org'): Claim => {
      const srv = { ...recordSet(`_a._tcp.${hostname}`, 'SRV', srvTo), hostname };
      return claim([...setsOf(`${hostname} 60 A 192.0.2.1`), srv], { resource, namespace, since: resource });
    };
    const { sets, refusals } = wantedIn([
      { ...b, resource: '1', since: '1' },
      withSrv('2', 'other'),
      withSrv('3', 'default', 'x.example.net'),
    ]);
    assert.deepEqual(sets, ['example.org: x.example.org 30 A 192.0.2.2 1']);
    assert.deepEqual(refusals, ['HostnameTaken 2', 'HostnameNotInZone 3']);
    const below = wantedIn([withSrv('4', 'default', 'x.sub.example.org')], {
      filter: { include: ['.x.sub.example.org'], exclude: [] },
    });
    assert.deepEqual(below, { sets: [], refusals: [] }, 'a filter does not separate them either');
  });

  test('an alias joins nothing but the same alias', () => {
    const alias = (target: string, resource: string): Claim =>
      claim(setsOf(`x.example.org 60 CNAME ${target}.`), { resource, since: resource });
    const { sets, refusals } = wantedIn([
      alias('a.net', '1'),
      alias('a.net', '2'),
      alias('b.net', '3'),
      { ...a, since: '4' },
    ]);
    assert.deepEqual(sets, ['example.org: x.example.org 60 CNAME a.net. 1']);
    assert.deepEqual(refusals, ['ConflictingTargets 3', 'ConflictingTargets service/default/a']);
  });

  test('a name is in the longest zone that contains it, on a label boundary', () => {
    const names = ['x.sub.example.org', 'xsub.example.org', 'badexample.org', 'example.org'];
    const { sets, refusals } = wantedIn(
      names.map((name) => claim(setsOf(`${name} 60 A 192.0.2.1`))),
      {
        registry: { ...plain, prefix: '%{record_type}-own.' },
      },
    );
    assert.deepEqual(
      sets.map((line) => line.split(' 60 ')[0]),
      ['example.org: example.org', 'example.org: xsub.example.org', 'sub.example.org: x.sub.example.org'],
    );
    assert.deepEqual(refusals, ['HostnameNotInZone service/default/shop']);
  });

  test('the apex needs a registry prefix that ends in a dot', () => {
    const { refusals } = desiredSets([claim(setsOf('example.org 60 A 192.0.2.1'))], options);
    assert.match(
      refusals[0]?.message ?? '',
      /a-example\.org, is outside zone example\.org: pass a --txt-prefix that ends in a dot/,
    );
  });

  test('the apex cannot be an alias', () => {
    assert.deepEqual(wantedIn([claim(setsOf('example.org 60 CNAME a.net.'))]).refusals, [
      'ConflictingTargets service/default/shop',
    ]);
  });

  test('a label of 63 characters has no room for its registry record', () => {
    const { refusals } = desiredSets([claim(setsOf(`${'a'.repeat(63)}.example.org 60 A 192.0.2.1`))], options);
    assert.match(
      refusals[0]?.message ?? '',
      /^a-a+\.example\.org is longer than 253 characters, or has a label longer than 63/,
    );
  });

  test('domain filters work on label boundaries; exclusions win; a leading dot means only below', () => {
    const names = ['a.example.org', 'x.a.example.org', 'b.example.org', 'ba.example.org', 'y.a.example.org'];
    const claims = names.map((name) => claim(setsOf(`${name} 60 A 192.0.2.1`)));
    const namesWith = (include: readonly string[], exclude: readonly string[] = []) =>
      desiredSets(claims, { ...options, filter: { include, exclude } })
        .zones.get('example.org')
        ?.keys()
        .toArray();
    assert.deepEqual(namesWith(['a.example.org']), ['a.example.org', 'x.a.example.org', 'y.a.example.org']);
    assert.deepEqual(namesWith(['.a.example.org']), ['x.a.example.org', 'y.a.example.org']);
    assert.deepEqual(namesWith([], ['a.example.org']), ['b.example.org', 'ba.example.org']);
    assert.deepEqual(namesWith(['example.org'], ['x.a.example.org', 'b.example.org']), [
      'a.example.org',
      'ba.example.org',
      'y.a.example.org',
    ]);
  });
});
