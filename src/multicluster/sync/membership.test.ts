import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { renewed } from '../lease/lease.ts';
import type { Member } from '../member/member.ts';
import { MemberInMemory } from '../testing/member.ts';
import { Membership, observedOf, problemOf } from './membership.ts';

interface State {
  readonly id?: string;
  readonly uid?: string;
  readonly probe?: Member['probe']['state'];
  readonly isSynced?: boolean;
  readonly isLeaving?: boolean;
  readonly isReadOnly?: boolean;
  readonly leases?: readonly Lease[];
}

/** A member in a given state. */
function memberIn(state: State = {}): Member {
  const { id = 'east', uid = `${id}-uid`, probe = 'alive', isSynced = true, leases = [], ...options } = state;
  const memory = new MemberInMemory(id, options);
  memory.probe.uid = uid;
  memory.probe.state = probe;
  memory.isSynced = isSynced;
  memory.leases = leases;
  return memory.member;
}

const setOf = (...members: readonly Member[]): Membership => {
  const membership = new Membership();
  for (const member of members) membership.add(member);
  return membership;
};

const adopted = async (membership: Membership, ...members: readonly Member[]): Promise<Membership> => {
  for (const member of members) {
    await membership.adopt(member, new AbortController().signal);
    const participant = membership.get(member.id);
    if (participant !== undefined) participant.adoption = 'Done';
  }
  return membership;
};

describe('the state of a member, as reconcilers see it', () => {
  for (const [name, state, want] of [
    ['read and alive', {}, ''],
    ['not read: its contributions stay', { isSynced: false }, 'unknown'],
    ['silent: exports wait for it', { probe: 'silent' }, 'silent'],
    ['lost: the reaper deletes its slices', { probe: 'lost' }, 'lost'],
    ['lost and not read', { probe: 'lost', isSynced: false }, 'unknown lost'],
    ['leaving: its contributions are deleted', { isLeaving: true, isSynced: false, probe: 'lost' }, ''],
  ] as const satisfies readonly (readonly [string, State, string])[]) {
    test(name, () => {
      const { unknown, lost, silent } = setOf(memberIn(state)).byState();
      const names = { unknown, lost, silent };
      assert.equal(
        Object.entries(names)
          .flatMap(([each, ids]) => (ids.has('east') ? [each] : []))
          .join(' '),
        want,
      );
    });
  }

  test('a member that does not take part counts in all states, so that nothing of it is written or deleted', () => {
    const membership = setOf(memberIn(), memberIn({ id: 'west', uid: 'east-uid' }));
    membership.checkIdentities();
    const { unknown, lost, silent } = membership.byState();
    for (const ids of [unknown, lost, silent]) assert.deepEqual([...ids], ['west']);
    assert.deepEqual(
      membership.participating().map(({ id }) => id),
      ['east'],
    );
  });
});

describe('whether services can be reconciled in a member', () => {
  for (const [name, state, isAdopted, want] of [
    ['ready and adopted', {}, true, true],
    ['not adopted in this term', {}, false, false],
    ['not read', { isSynced: false }, true, false],
    ['silent', { probe: 'silent' }, true, false],
  ] as const satisfies readonly (readonly [string, State, boolean, boolean])[]) {
    test(name, async () => {
      const member = memberIn(state);
      const membership = setOf(member);
      if (isAdopted) await adopted(membership, member);
      assert.equal(membership.canReconcile(member), want);
    });
  }

  test('not in a member whose connection was replaced', async () => {
    const [first, second] = [memberIn(), memberIn()];
    const membership = await adopted(setOf(first), first);
    membership.add(second);
    assert.deepEqual([membership.canReconcile(first), membership.canReconcile(second)], [false, false]);
  });
});

describe('identities', () => {
  const problemIn = (membership: Membership, id: string): string => {
    const participant = membership.get(id);
    return (participant && problemOf(participant)) ?? '';
  };

  test('another cluster under a known id is rejected until the id has left the set', () => {
    const membership = setOf(memberIn());
    membership.checkIdentities();
    membership.add(memberIn({ uid: 'other' }));
    membership.checkIdentities();
    assert.match(problemIn(membership, 'east'), /^the cluster behind id east was replaced/);
    membership.remove('east');
    membership.add(memberIn({ uid: 'other' }));
    membership.checkIdentities();
    assert.equal(problemIn(membership, 'east'), '');
  });

  test('the uid in a lease of another member is adopted, so that a new controller rejects the other cluster too', async () => {
    const renewal = { source: 'east', uid: 'older', holder: 'a', durationMs: 40_000, nowMs: 0 };
    const west = memberIn({ id: 'west', leases: [renewed(undefined, renewal)] });
    const membership = await adopted(setOf(memberIn(), west), west);
    assert.match(problemIn(membership, 'east'), /uid of kube-system is east-uid, was older/);
  });

  test('leases of a read-only member are not read', async () => {
    const renewal = { source: 'east', uid: 'older', holder: 'a', durationMs: 40_000, nowMs: 0 };
    const west = memberIn({ id: 'west', isReadOnly: true, leases: [renewed(undefined, renewal)] });
    const membership = await adopted(setOf(memberIn(), west), west);
    assert.equal(problemIn(membership, 'east'), '');
  });
});

test('a change that concerns all services changes the shared state of a member', () => {
  const sharedOf = (state: State, identity?: string): string => {
    const participant = setOf(memberIn(state)).get('east');
    assert.ok(participant);
    participant.problems.identity = identity;
    return observedOf(participant).shared;
  };
  const alive = sharedOf({});
  assert.equal(sharedOf({ probe: 'silent' }), alive);
  for (const other of [sharedOf({ probe: 'lost' }), sharedOf({ isSynced: false }), sharedOf({}, 'replaced')])
    assert.notEqual(other, alive);
});
