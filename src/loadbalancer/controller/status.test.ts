import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Condition } from '../../api/metadata.ts';
import { serviceWith } from '../testing/service.ts';
import { mixedNotSupported, portsError, statusPatch } from './status.ts';

const now = '2026-01-02T00:00:00Z';
const before = '2026-01-01T00:00:00Z';
const problem = { reason: mixedNotSupported, message: 'no', isAboutMixing: true, isFinal: true };
const base = serviceWith('80/TCP 81/UDP');
const ingress = [{ ip: '192.0.2.1', ipMode: 'VIP' as const }];
const condition = (type: string, status: string, message = 'no'): Condition => ({
  type,
  status,
  lastTransitionTime: before,
  reason: mixedNotSupported,
  message,
});
const withConditions = (...conditions: Condition[]): typeof base => ({
  ...base,
  status: { loadBalancer: {}, conditions },
});

test('LB-4 a refusal sets the current condition and that of the first proposal', () => {
  const patch = statusPatch(base, { status: {}, problem, now });
  assert.deepEqual(
    patch?.status.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    [
      [portsError, 'True', mixedNotSupported],
      [mixedNotSupported, 'True', mixedNotSupported],
    ],
  );
  assert.equal(patch?.status.loadBalancer, undefined);
});

test('LB-4 a refusal that is not about mixed protocols sets only the current condition', () => {
  const other = { ...problem, reason: 'UnsupportedProtocol', isAboutMixing: false };
  const patch = statusPatch(base, { status: {}, problem: other, now });
  assert.deepEqual(
    patch?.status.conditions?.map(({ type }) => type),
    [portsError],
  );
});

test('LB-4 resets conditions once when the cause is gone', () => {
  const service = withConditions(condition(portsError, 'True'), condition(mixedNotSupported, 'True'));
  const patch = statusPatch(service, { status: { ingress }, now });
  assert.deepEqual(
    patch?.status.conditions?.map(({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime]),
    [
      [portsError, 'False', now],
      [mixedNotSupported, 'False', now],
    ],
  );
  const cleared = withConditions(condition(portsError, 'False'), condition(mixedNotSupported, 'False'));
  assert.equal(statusPatch(cleared, { status: {}, now }), undefined);
});

test('does not write an unchanged status; a new reason keeps the transition time', () => {
  const service = withConditions(condition(portsError, 'True'), condition(mixedNotSupported, 'True'));
  assert.equal(statusPatch(service, { status: {}, problem, now }), undefined);
  const [first] =
    statusPatch(service, { status: {}, problem: { ...problem, message: 'still no' }, now })?.status.conditions ?? [];
  assert.equal(first?.lastTransitionTime, before);
  const served = { ...base, status: { loadBalancer: { ingress: [{ ipMode: 'VIP' as const, ip: '192.0.2.1' }] } } };
  assert.equal(statusPatch(served, { status: { ingress }, now }), undefined, 'the order of fields does not matter');
  assert.deepEqual(statusPatch(served, { status: {}, now })?.status.loadBalancer, { ingress: null });
});
