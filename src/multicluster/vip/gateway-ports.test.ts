import assert from 'node:assert/strict';
import { test } from 'node:test';

import { egressPorts } from '../../api/kinds/multicluster/gateway.ts';
import type { RemotePort } from './gateway-ports.ts';
import { GatewayPorts } from './gateway-ports.ts';

const remote = (name: string): RemotePort => ({
  cluster: 'east',
  namespace: 'shop',
  name,
  port: 'http',
  protocol: 'TCP',
});

test('a service port keeps its port, no two share one, and a new controller allocates the same', () => {
  const [one, other] = [new GatewayPorts(() => []), new GatewayPorts(() => [])];
  const names = Array.from({ length: 500 }, (_, index) => `web-${index}`);
  const ports = names.map((name) => one.portOf(remote(name)));
  assert.deepEqual(
    names.map((name) => one.portOf(remote(name))),
    ports,
  );
  assert.equal(new Set(ports).size, names.length);
  assert.deepEqual(
    names.map((name) => other.portOf(remote(name))),
    ports,
  );
});

test('existing slices win, and ports of others are not taken', () => {
  const preferred = new GatewayPorts(() => []).portOf(remote('web')) ?? 0;
  const ports = new GatewayPorts(() => [[remote('db'), preferred]]);
  assert.equal(ports.portOf(remote('db')), preferred);
  assert.notEqual(ports.portOf(remote('web')), preferred);
});

test('when all ports are taken, those of deleted services are used again', () => {
  const held: [RemotePort, number][] = [];
  const ports = new GatewayPorts(() => held);
  for (let port: number = egressPorts.first; port <= egressPorts.last; port++)
    assert.ok(ports.portOf(remote(`old-${port}`)));
  for (let port: number = egressPorts.first; port <= egressPorts.last; port++)
    held.push([remote(`kept-${port}`), port]);
  assert.equal(ports.portOf(remote('new')), undefined);
  held.pop();
  assert.equal(ports.portOf(remote('new')), egressPorts.last);
});
