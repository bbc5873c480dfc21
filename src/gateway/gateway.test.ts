import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { echoServer, firstLine, reaches, startSet } from './testing/gateways.ts';

const port = 20_001;

suite('gateways', () => {
  test('connect a client with an endpoint in another cluster', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = (await startSet(['east', 'west'], stack)).clusters;
    assert.ok(east && west);
    const remote = await east.gateway(stack);
    const local = await west.gateway(stack);
    await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west'] });
    await west.imports('web', 'east', { port, gateways: [remote.peers] });
    await reaches({ host: local.address, port }, 'east');
  });

  test('relay connections to a gateway that cannot be dialled', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west, north] = (await startSet(['east', 'west', 'north'], stack)).clusters;
    assert.ok(east && west && north);
    const relay = await north.gateway(stack);
    await east.gateway(stack, { relays: [relay.peers] });
    const local = await west.gateway(stack, { relays: [relay.peers] });
    await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west', 'north'] });
    for (const each of [west, north]) await each.imports('web', 'east', { port, gateways: [relay.peers] });
    await reaches({ host: local.address, port }, 'east');
    await reaches({ host: relay.address, port }, 'east');
    assert.match(await firstLine({ host: relay.address, port: port + 1 }), /ECONNREFUSED/);
  });
});
