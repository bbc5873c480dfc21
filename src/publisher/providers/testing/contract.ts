// What every provider must do: the tests run for each of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Name } from '../../../dnswire/data.ts';
import { Comparison } from '../../compare.ts';
import type { NameChange } from '../../plan/changes.ts';
import { desiredSets } from '../../plan/desired.ts';
import type { ZoneContent } from '../../plan/record-set.ts';
import { claim, lines, zoneOf } from '../../plan/testing/objects.ts';
import type { Failure, Provider } from '../provider.ts';

const registry = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };
const { signal } = new AbortController();
export const zone: Name = 'example.org';

/** What is to exist, as lines `name ttl type value`; lines of one name and type are one set. */
const desired = (text: string): ReturnType<typeof desiredSets> =>
  desiredSets([claim([...zoneOf(text).values()].flat())], {
    zones: [zone],
    filter: { include: [], exclude: [] },
    registry,
  });

/** The changes that make a zone as it is to be. */
export async function plan(provider: Provider, text: string): Promise<readonly NameChange[]> {
  const { zones, kept } = desired(text);
  const comparison = new Comparison({ provider, zone, registry, policy: 'sync' });
  const input = { desired: zones.get(zone) ?? new Map(), kept: { resources: kept, allImports: false } };
  return (await comparison.run(input, [], signal)).plan.changes;
}

/** Makes a zone as it is to be. */
export const converge = async (provider: Provider, text: string): Promise<readonly Failure[]> =>
  provider.apply(zone, await plan(provider, text), signal);

/** The published sets of the zone, without those of the registry. */
export async function published(provider: Provider): Promise<readonly string[]> {
  const { content } = await provider.read(zone, signal);
  return lines([...content.values()].flat().filter(({ type }) => ['A', 'AAAA', 'CNAME', 'SRV'].includes(type)));
}

/** Runs the tests. Every call of `open` returns a provider of the same, at first empty, zone. */
export function providerContract(open: () => Promise<Provider>): void {
  const first = `
    one.example.org 60 A 192.0.2.1
    one.example.org 60 A 192.0.2.2
    one.example.org 60 AAAA 2001:db8::1
    _kerberos._udp.one.example.org 60 SRV 0 100 88 one.example.org.
    alias.example.org 60 CNAME www.example.net.
    *.wild.example.org 60 A 192.0.2.3`;

  test('creates, changes and deletes sets of all types, and reads what it wrote', async () => {
    await using provider = await open();
    assert.deepEqual(await converge(provider, first), []);
    assert.deepEqual(await published(provider), lines([...zoneOf(first).values()].flat()));
    assert.deepEqual(await plan(provider, first), [], 'nothing is left to do');

    const second = 'one.example.org 30 A 192.0.2.4\nalias.example.org 60 A 192.0.2.5';
    assert.deepEqual(await converge(provider, second), []);
    await using restarted = await open();
    assert.deepEqual(await published(restarted), lines([...zoneOf(second).values()].flat()));
    assert.deepEqual(await plan(restarted, second), [], 'nothing is left to do after a restart');

    assert.deepEqual(await converge(restarted, ''), []);
    await using last = await open();
    assert.deepEqual(await published(last), []);
  });

  test('a reading names what has changed since the last one, by this provider or another', async () => {
    await using provider = await open();
    await using other = await open();
    let last: ZoneContent = new Map((await provider.read(zone, signal)).content);
    for (const [by, text] of [
      [provider, first],
      [other, 'one.example.org 30 A 192.0.2.4'],
      [provider, first],
      [other, ''],
    ] as const) {
      assert.deepEqual(await converge(by, text), []);
      const { content, changed } = await provider.read(zone, signal);
      for (const name of new Set([...last.keys(), ...content.keys()]))
        if (!isDeepStrictEqual(last.get(name), content.get(name)))
          assert.ok(changed?.has(name) ?? true, `${name} has changed`);
      last = new Map(content);
    }
  });

  test('changes many names at once', async () => {
    await using provider = await open();
    const many = (value: string): string =>
      Array.from({ length: 1200 }, (_, index) => `many-${index}.example.org 60 A ${value}`).join('\n');
    assert.deepEqual(await converge(provider, many('192.0.2.1')), []);
    assert.deepEqual(await converge(provider, many('192.0.2.2')), []);
    assert.deepEqual(await plan(provider, many('192.0.2.2')), []);
    assert.deepEqual(await converge(provider, ''), []);
    assert.deepEqual(await published(provider), []);
  });
}

/** For providers that detect changes of a zone since it was read: if two write at once, one of them fails. */
export function conflictContract(open: () => Promise<Provider>): void {
  test('never overwrites what changed after it was read', async () => {
    await using provider = await open();
    await using other = await open();
    const mine = 'taken.example.org 60 A 192.0.2.1';
    const stale = await plan(provider, mine);
    assert.deepEqual(await converge(other, 'taken.example.org 60 A 192.0.2.2'), []);
    assert.deepEqual(
      (await provider.apply(zone, stale, signal)).map(({ state }) => state),
      ['stale'],
    );
    assert.deepEqual(await published(provider), ['taken.example.org 60 A 192.0.2.2']);
    assert.deepEqual(await converge(provider, mine), []);
    assert.deepEqual(await published(provider), [mine]);
    assert.deepEqual(await converge(provider, ''), []);
  });
}
