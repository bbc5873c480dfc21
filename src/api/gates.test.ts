import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gateStates, gatesWith } from './gates.ts';

test('lists gates by name with their stage and setting', () => {
  const states = gateStates(gatesWith({ SRVServiceName: false }));
  assert.deepEqual(
    states.map(({ name, stage, enabled }) => `${name} ${stage} ${enabled}`),
    [
      'LoadBalancerIPMode GA true',
      'MixedProtocolLBService BETA true',
      'MultiCIDRServiceAllocator GA true',
      'MutatingAdmissionPolicy BETA false',
      'PreferSameTrafficDistribution GA true',
      'RelaxedServiceNameValidation BETA true',
      'SRVServiceName BETA false',
      'ServiceTrafficDistribution GA true',
      'StrictIPCIDRValidation ALPHA false',
      'TopologyAwareHints GA true',
    ],
  );
});
