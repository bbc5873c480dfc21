import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RecordingProvider } from '../../controller/testing/recording-provider.ts';
import { serviceWith } from '../../testing/service.ts';
import { AddressClaims } from './announcer.ts';
import { announcement } from './gratuitous-arp.ts';
import { AnnouncingProvider } from './provider.ts';

test('adds an address with its first Service and removes it with the last', () => {
  const claims = new AddressClaims();
  const [a, b] = ['192.0.2.1', '192.0.2.2'];
  assert.deepEqual(claims.set('default/tcp', [a]), { gained: [a], lost: [] });
  assert.deepEqual(claims.set('default/udp', [a]), { gained: [], lost: [] });
  assert.deepEqual(claims.set('default/udp', [a]), { gained: [], lost: [] }, 'again');
  assert.deepEqual(claims.set('default/tcp', [b]), { gained: [b], lost: [] });
  assert.deepEqual(claims.addresses, [a, b]);
  assert.deepEqual(claims.set('default/udp', []), { gained: [], lost: [a] });
  assert.deepEqual(claims.set('default/tcp', []), { gained: [], lost: [b] });
  assert.deepEqual(claims.addresses, []);
});

test('an announcement is a broadcast ARP request with the address as sender and target', () => {
  const frame = announcement('192.0.2.1', Buffer.from('020000000001', 'hex'));
  const want = ['ffffffffffff', '020000000001', '0806', '0001', '0800', '06', '04', '0001'];
  assert.equal(frame.toString('hex'), [...want, '020000000001', 'c0000201', '000000000000', 'c0000201'].join(''));
});

test('a replaced Service keeps its address, and no address is added after the term ends', async () => {
  const claims = new AddressClaims();
  const setAddresses = async (service: string, addresses: readonly string[]) => void claims.set(service, addresses);
  const recorder = new RecordingProvider();
  const provider = new AnnouncingProvider(recorder, { setAddresses, run: async () => {} });
  const ending = new AbortController();
  const named = (uid: string) => {
    const { metadata, ...rest } = serviceWith('80/TCP');
    return { ...rest, metadata: { ...metadata, uid } };
  };
  await provider.ensure(named('second'), { nodes: [], slices: [] }, ending.signal);
  await provider.remove(named('first'), ending.signal);
  assert.deepEqual(claims.addresses, ['192.0.2.1']);
  await provider.remove(named('second'), ending.signal);
  assert.deepEqual(claims.addresses, []);
  await provider.ensure(named('by hand'), { nodes: [], slices: [] }, ending.signal);
  recorder.made.clear();
  assert.equal(await provider.find(named('by hand'), ending.signal), undefined);
  assert.deepEqual(claims.addresses, [], 'its load balancer was taken away by hand');
  ending.abort();
  await assert.rejects(provider.ensure(named('third'), { nodes: [], slices: [] }, ending.signal), {
    name: 'AbortError',
  });
  assert.deepEqual(claims.addresses, []);
});
