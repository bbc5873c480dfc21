// The route53 provider with the emulator moto.
import { after, before, describe, test } from 'node:test';
import { Route53 } from '@aws-sdk/client-route-53';

import { systemClock } from '../../src/client/clock.ts';
import { connect } from '../../src/publisher/providers/route53/connect.ts';
import { Route53Provider } from '../../src/publisher/providers/route53/provider.ts';
import { conflictContract, providerContract, zone } from '../../src/publisher/providers/testing/contract.ts';
import type { Moto } from '../harness/moto.ts';
import { startMoto, withoutMoto } from '../harness/moto.ts';
import { testRoute53 } from './route53.ts';

describe('the route53 provider with moto', { skip: withoutMoto }, () => {
  let moto: Moto;
  let client: Route53;
  before(async () => {
    moto = await startMoto();
    client = new Route53({ endpoint: moto.endpoint, region: 'us-east-1' });
    await client.createHostedZone({ Name: zone, CallerReference: 'one' });
  });
  after(() => moto[Symbol.asyncDispose]());

  const open = async (): Promise<Route53Provider> => {
    const options = { zones: [zone], zoneIds: [], clock: systemClock, rereadMs: 0 };
    return new Route53Provider({ client: await connect({ endpoint: moto.endpoint }), ...options });
  };
  providerContract(open);
  conflictContract(open);

  test('SRV-10 `fairlead publisher` writes to a hosted zone', async () => {
    await testRoute53(moto.endpoint, async () => {
      const { HostedZones = [] } = await client.listHostedZones({});
      const { ResourceRecordSets = [] } = await client.listResourceRecordSets({ HostedZoneId: HostedZones[0]?.Id });
      return ResourceRecordSets.filter(({ Type }) => Type !== 'NS' && Type !== 'SOA').map(
        ({ Name = '', Type = '', ResourceRecords = [] }) =>
          `${Name} ${Type} ${ResourceRecords.map(({ Value }) => Value).join(', ')}`,
      );
    });
  });
});
