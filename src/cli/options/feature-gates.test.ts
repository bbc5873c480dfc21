import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GateName } from '../../api/gates.ts';
import { parseFeatureGates } from './feature-gates.ts';

const settings: readonly { name: string; given: string; gate: GateName; want: boolean }[] = [
  { name: 'beta is on unless set', given: '', gate: 'SRVServiceName', want: true },
  { name: 'alpha is off unless set', given: '', gate: 'StrictIPCIDRValidation', want: false },
  { name: 'false turns off', given: 'SRVServiceName=false', gate: 'SRVServiceName', want: false },
  { name: 'spaces and empty items are ignored', given: ' , SRVServiceName = F ,', gate: 'SRVServiceName', want: false },
  { name: 'the last setting wins', given: 'SRVServiceName=0,SRVServiceName=1', gate: 'SRVServiceName', want: true },
  { name: 'AllAlpha turns alpha on', given: 'AllAlpha=true', gate: 'StrictIPCIDRValidation', want: true },
  { name: 'AllBeta leaves alpha', given: 'AllBeta=true', gate: 'StrictIPCIDRValidation', want: false },
  { name: 'AllBeta turns beta off', given: 'AllBeta=false', gate: 'MixedProtocolLBService', want: false },
  {
    name: 'a name wins over AllBeta before it',
    given: 'SRVServiceName=true,AllBeta=false',
    gate: 'SRVServiceName',
    want: true,
  },
  {
    name: 'a locked gate may be set to its default',
    given: 'LoadBalancerIPMode=true',
    gate: 'LoadBalancerIPMode',
    want: true,
  },
];
for (const { name, given, gate, want } of settings) {
  test(`feature gates: ${name}`, () => assert.equal(parseFeatureGates(given).gates.enabled(gate), want));
}

const errors: readonly (readonly [given: string, want: string])[] = [
  ['SRVServiceName', 'missing bool value for SRVServiceName'],
  [
    'SRVServiceName=maybe',
    'invalid value of SRVServiceName=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
  ],
  ['Unheard=true', 'unrecognized feature gate: Unheard'],
  ['srvservicename=true', 'unrecognized feature gate: srvservicename'],
  ['toString=true', 'unrecognized feature gate: toString'],
  ['LoadBalancerIPMode=false', 'cannot set feature gate LoadBalancerIPMode to false, feature is locked to true'],
];
for (const [given, want] of errors) {
  test(`feature gates reject ${given}`, () => assert.throws(() => parseFeatureGates(given), { message: want }));
}

test('setting a GA gate warns', () => {
  assert.deepEqual(parseFeatureGates('LoadBalancerIPMode=true').warnings, [
    'Setting GA feature gate LoadBalancerIPMode=true. It will be removed in a future release.',
  ]);
});
