import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { gatesWith } from '../../api/gates.ts';
import { part } from './part.ts';
import type { Settings } from '../options/flags.ts';

const settings = (given: Readonly<Record<string, string>>): Settings =>
  new Map(Object.entries(given).map(([name, value]) => [name, [value]]));

/** Contradictory flags → the error. */
const refused: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{ 'source-lease-duration': '15s' }, /^--source-lease-duration 15s is too short: .* up to 23\.8s .* at least 32s/],
  [{ 'source-lease-duration': '31s' }, /at least 32s/],
  [{ 'leader-elect-lease-duration': '60s' }, /^--source-lease-duration 40s is too short: .* at least 92s/],
  [{ 'leader-elect-retry-period': '5s' }, /at least 50s/],
];

/** Valid combinations. */
const accepted: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'source-lease-duration': '32s' },
  { 'source-lease-duration': '3s', 'leader-elect': 'false' },
  {
    'source-lease-duration': '8s',
    'leader-elect-lease-duration': '3s',
    'leader-elect-renew-deadline': '2s',
    'leader-elect-retry-period': '500ms',
  },
];

describe('source leases outlive the election of another controller', () => {
  const alone = (given: Readonly<Record<string, string>>) =>
    part.alone(settings({ members: 'members.yaml', ...given }), () => undefined);
  const inUp = (given: Readonly<Record<string, string>>) => {
    part.inUp({ name: 'east', gates: gatesWith(), serviceCidrs: [], settings: settings(given) });
  };
  for (const [given, message] of refused) {
    test(`rejects ${JSON.stringify(given)}`, async () => {
      await assert.rejects(alone(given)(), { message, code: 'USAGE' });
      assert.throws(() => inUp(given), { message, code: 'USAGE' });
    });
  }
  for (const given of accepted) test(`accepts ${JSON.stringify(given)}`, () => inUp(given));
});
