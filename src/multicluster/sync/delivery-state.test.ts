import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { namespaceAbsent } from '../project/delivery.ts';
import type { Delivery } from '../project/export-conditions.ts';
import type { DeliveryEvent, DeliverySource, DeliveryState, DeliveryTarget, Result } from './delivery-state.ts';
import { affectsExports, deliveryIn, DeliveryStates, isSettled, nextState } from './delivery-state.ts';

const delivery: Delivery = { cluster: 'west', state: 'acknowledged', hasAddress: true };
const first: Result = { delivery, clusters: ['east'], version: 1 };
const second: Result = { ...first, version: 2 };
const pending: DeliveryState = { phase: 'Pending' };
const writing: DeliveryState = { phase: 'Writing', last: undefined };
const rewriting: DeliveryState = { phase: 'Writing', last: first };
const synced: DeliveryState = { phase: 'Synced', last: first };
const failed: DeliveryState = { phase: 'Failed', last: undefined, error: 'forbidden' };
const failedLater: DeliveryState = { phase: 'Failed', last: first, error: 'forbidden' };
const failure = (failures: number, message = 'forbidden'): DeliveryEvent => ({
  type: 'failed',
  failures,
  error: new Error(message),
});
const success = (result: Result): DeliveryEvent => ({ type: 'succeeded', result });
const nameOf = ({ phase, last }: DeliveryState): string => `${phase}${last === undefined ? '' : ' with a result'}`;

describe('the state of a service in a member', () => {
  for (const [before, event, after, isNews] of [
    [pending, { type: 'started' }, writing, false],
    [synced, { type: 'started' }, rewriting, false],
    [rewriting, { type: 'started' }, rewriting, false],
    [failed, { type: 'started' }, failed, false],
    [failedLater, { type: 'started' }, failedLater, false],
    [writing, success(first), synced, true],
    [rewriting, success(second), { phase: 'Synced', last: second }, false],
    [failed, success(first), synced, true],
    [failedLater, success(first), synced, true],
    [writing, failure(1), writing, false],
    [writing, failure(2), writing, false],
    [writing, failure(3), failed, true],
    [rewriting, failure(2), rewriting, false],
    [rewriting, failure(3), failedLater, true],
    [pending, failure(7), failed, true],
    [failed, failure(4, 'another error'), failed, false],
  ] as const) {
    const what = event.type === 'failed' ? `failure ${event.failures}` : event.type;
    test(`${nameOf(before)} → ${what} → ${nameOf(after)}${isNews ? ', and the exports report it' : ''}`, () => {
      assert.deepEqual(nextState(before, event), after);
      assert.equal(affectsExports(before, after, []), isNews);
    });
  }

  test('exports wait for members without a result that have not failed three times', () => {
    const settled = [pending, writing, rewriting, synced, failed, failedLater].map(isSettled);
    assert.deepEqual(settled, [false, false, true, true, true, true]);
  });

  for (const [what, result, awaited, isNews] of [
    ['a version that no export waits for', second, [], false],
    ['a version that an export waits for', second, [2], true],
    ['a version after the one that an export waits for', { ...first, version: 5 }, [2], true],
    ['a version before the one that an export waits for', second, [3], false],
    ['a version that was there before', second, [1], false],
    ['another cluster that takes part', { ...second, clusters: ['east', 'west'] }, [], true],
    ['a member that refuses the service', { ...second, delivery: { ...delivery, state: 'refused' } }, [], true],
  ] as const) {
    test(`the exports ${isNews ? '' : 'do not '}report ${what}`, () => {
      assert.equal(affectsExports(rewriting, { phase: 'Synced', last: result }, awaited), isNews);
    });
  }

  test('truncates an error after 300 characters', () => {
    const state = nextState(writing, failure(3, 'x'.repeat(1000)));
    assert.equal(state.phase === 'Failed' && state.error.length, 300);
  });
});

describe('the delivery that an export reports for a member', () => {
  const alive: DeliveryTarget = { cluster: 'west', isConcerned: true, connection: 'alive' };
  const source: DeliverySource = { namespace: 'shop', exporter: 'east', version: 0 };
  const refused: Delivery = { cluster: 'west', state: 'refused', hasAddress: false };
  for (const [what, state, target, from, wanted] of [
    ['MCS-23 no result yet: pending', pending, {}, {}, { state: 'pending', hasAddress: false }],
    [
      'MCS-23 no result and no answer: unreachable',
      pending,
      { connection: 'silent' },
      {},
      { state: 'unreachable', hasAddress: false },
    ],
    [
      'no probe was answered yet: unreachable',
      writing,
      { connection: 'unknown' },
      {},
      { state: 'unreachable', hasAddress: false },
    ],
    ['a result: acknowledged', synced, {}, {}, { state: 'acknowledged' }],
    ['a result that is being replaced: acknowledged', rewriting, {}, {}, { state: 'acknowledged' }],
    ['a result, silent for a moment: acknowledged', synced, { connection: 'silent' }, {}, { state: 'acknowledged' }],
    ['MCS-23 a result, lost since: unreachable', synced, { connection: 'lost' }, {}, { state: 'unreachable' }],
    ['failed: pending, with the error', failedLater, {}, {}, { state: 'pending', error: 'forbidden' }],
    ['failed and lost: unreachable', failed, { connection: 'lost' }, {}, { state: 'unreachable', hasAddress: false }],
    [
      'MCS-109 no namespace: acknowledged',
      pending,
      { isConcerned: false },
      {},
      { state: 'acknowledged', refusal: namespaceAbsent('west', 'shop') },
    ],
    [
      'MCS-109 no namespace, lost: acknowledged',
      failed,
      { isConcerned: false, connection: 'lost' },
      {},
      { state: 'acknowledged', refusal: namespaceAbsent('west', 'shop') },
    ],
    [
      'no result, and the CRDs are missing: unreachable, with the reason',
      pending,
      { unreadable: 'no CRDs' },
      {},
      { state: 'unreachable', hasAddress: false, error: 'no CRDs' },
    ],
    [
      'a result, and the CRDs were deleted since: unreachable, with the reason',
      synced,
      { unreadable: 'no CRDs' },
      {},
      { state: 'unreachable', error: 'no CRDs' },
    ],
    [
      'rejected: acknowledged',
      pending,
      { rejection: 'another cluster' },
      {},
      { state: 'acknowledged', refusal: { reason: 'Rejected', message: 'another cluster' } },
    ],
    ['a result without the exporter: pending', synced, {}, { exporter: 'north' }, { state: 'pending' }],
    ['MCS-20 a result older than the complete export: pending', synced, {}, { version: 2 }, { state: 'pending' }],
    ['a result of the complete export: acknowledged', synced, {}, { version: 1 }, { state: 'acknowledged' }],
    [
      'a refusal stays one, whatever the version',
      { phase: 'Synced', last: { ...first, delivery: refused } },
      {},
      { version: 2 },
      refused,
    ],
  ] as const satisfies readonly (readonly [
    string,
    DeliveryState,
    Partial<DeliveryTarget>,
    Partial<DeliverySource>,
    Partial<Delivery>,
  ])[]) {
    test(what, () => {
      assert.deepEqual(deliveryIn(state, { ...alive, ...target }, { ...source, ...from }), { ...delivery, ...wanted });
    });
  }
});

describe('the states of all services', () => {
  test('resets the state of a member that left', () => {
    const states = new DeliveryStates();
    states.apply('shop/web', 'west', success(first));
    states.setComplete('shop/web', 'west', { uid: 'u', version: 1 });
    states.deleteMember('west');
    assert.equal(states.get('shop/web', 'west').phase, 'Pending');
    assert.equal(states.isComplete('shop/web', 'west', 'u'), false);
  });

  test('an export is complete for its own UIDs only, and the members then have to have that version', () => {
    const states = new DeliveryStates();
    states.apply('shop/web', 'west', success(first));
    states.setComplete('shop/web', 'east', { uid: 'u', version: 2 });
    assert.deepEqual(
      [states.isComplete('shop/web', 'east', 'u'), states.isComplete('shop/web', 'east', 'v')],
      [true, false],
    );
    const targets = [{ cluster: 'west', isConcerned: true, connection: 'alive' }] as const;
    assert.deepEqual(states.deliveries('shop/web', 'east', targets)[0]?.state, 'pending');
    assert.equal(states.apply('shop/web', 'west', success(second)), true);
    assert.deepEqual(states.deliveries('shop/web', 'east', targets)[0]?.state, 'acknowledged');
  });
});
