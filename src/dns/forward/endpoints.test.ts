import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { OwnAddresses } from './endpoints.ts';
import { endpointsOfResolvConf, parseEndpoint } from './endpoints.ts';
import { endpointName } from './upstream.ts';

suite('parseEndpoint', () => {
  const table: readonly { given: string; want: string | undefined }[] = [
    { given: '192.0.2.1', want: '192.0.2.1:53' },
    { given: '192.0.2.1:5353', want: '192.0.2.1:5353' },
    { given: '2001:db8::1', want: '[2001:db8::1]:53' },
    { given: '[2001:DB8::1]', want: '[2001:db8::1]:53' },
    { given: '[2001:db8::1]:5353', want: '[2001:db8::1]:5353' },
    { given: '', want: undefined },
    { given: 'dns.example.org', want: undefined },
    { given: '192.0.2.1:0', want: undefined },
    { given: '192.0.2.1:70000', want: undefined },
    { given: '192.0.2', want: undefined },
    { given: '[192.0.2.1', want: undefined },
  ];
  for (const { given, want } of table) {
    test(`"${given}" is ${want ?? 'none'}`, () => {
      const endpoint = parseEndpoint(given);
      assert.equal(endpoint && endpointName(endpoint), want);
    });
  }
});

suite('endpointsOfResolvConf returns the servers', () => {
  const own: OwnAddresses = { listen: [{ address: '0.0.0.0', port: 53 }], machine: ['10.0.0.5', '127.0.0.1'] };
  const table: readonly {
    name: string;
    text: string;
    own: OwnAddresses;
    want: readonly string[];
    self: readonly string[];
  }[] = [
    {
      name: 'in order, without duplicates and other lines',
      text: '# a comment\nsearch example.org\nnameserver 192.0.2.1\n nameserver\t2001:db8::1 \nnameserver 192.0.2.1\noptions ndots:5\n',
      own,
      want: ['192.0.2.1:53', '[2001:db8::1]:53'],
      self: [],
    },
    {
      name: 'without this server at any of its addresses',
      text: 'nameserver 127.0.0.1\nnameserver 10.0.0.5\nnameserver 127.0.0.53\nnameserver 10.0.0.6',
      own,
      want: ['10.0.0.6:53'],
      self: ['127.0.0.1:53', '10.0.0.5:53', '127.0.0.53:53'],
    },
    {
      name: 'on this machine at an address that this server does not listen on',
      text: 'nameserver 127.0.0.53',
      own: { listen: [{ address: '10.0.0.5', port: 53 }], machine: ['10.0.0.5'] },
      want: ['127.0.0.53:53'],
      self: [],
    },
    {
      name: 'this server on another port',
      text: 'nameserver 127.0.0.1',
      own: { listen: [{ address: '0.0.0.0', port: 1053 }], machine: [] },
      want: ['127.0.0.1:53'],
      self: [],
    },
    {
      name: 'none',
      text: 'nameserver fe80::1%eth0\nnameserver\nnameserver x\n',
      own,
      want: [],
      self: [],
    },
  ];
  for (const { name, text, own: places, want, self } of table) {
    test(name, () => {
      const got = endpointsOfResolvConf(text, places);
      assert.deepEqual(got.upstreams.map(endpointName), want);
      assert.deepEqual(got.self.map(endpointName), self);
    });
  }
});
