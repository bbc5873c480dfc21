import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { enterArgv, launchArgv } from '../processes/launch.ts';
import { layeredPath } from './layered-path.ts';
import { gatewayOf, linkOf, machineCommands, podCommands } from './link.ts';
import { mountsOf } from './mounts.ts';
import { hostsFile, resolverFile } from './name-files.ts';

const pod = (spec: object): Pod =>
  ({ metadata: { namespace: 'shop', name: 'web-0', uid: 'u' }, spec, status: {} }) as unknown as Pod;
const names = {
  podIps: ['10.1.0.7'],
  clusterDns: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  machineResolver: 'nameserver 192.0.2.53\nsearch example.org\noptions edns0\n',
  machineHosts: '127.0.0.1 localhost\n',
};

test('resolv.conf follows dnsPolicy and dnsConfig', () => {
  const cluster = 'search shop.svc.cluster.local svc.cluster.local cluster.local example.org\nnameserver 10.96.0.10\n';
  const machine = 'search example.org\nnameserver 192.0.2.53\noptions edns0\n';
  const config = {
    nameservers: ['192.0.2.1'],
    searches: ['example.com'],
    options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }],
  };
  const table: readonly (readonly [spec: object, text: string])[] = [
    [{}, `${cluster}options ndots:5\n`],
    [{ hostNetwork: true }, machine],
    [{ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }, `${cluster}options ndots:5\n`],
    [{ dnsPolicy: 'Default' }, machine],
    [{ dnsPolicy: 'None', dnsConfig: config }, 'search example.com\nnameserver 192.0.2.1\noptions ndots:2 rotate\n'],
    [
      { dnsConfig: config },
      'search shop.svc.cluster.local svc.cluster.local cluster.local example.org example.com\n' +
        'nameserver 10.96.0.10\nnameserver 192.0.2.1\noptions ndots:2 rotate\n',
    ],
  ];
  for (const [spec, text] of table) assert.equal(resolverFile(pod(spec), names), text);
  assert.equal(resolverFile(pod({}), { ...names, clusterDns: [] }), machine);
});

test('the hosts file has the Pod and its aliases', () => {
  const text = hostsFile(pod({ subdomain: 'db', hostAliases: [{ ip: '192.0.2.9', hostnames: ['a', 'b'] }] }), names);
  assert.match(text, /^10\.1\.0\.7\tweb-0\.db\.shop\.svc\.cluster\.local\tweb-0$/m);
  assert.match(text, /^192\.0\.2\.9\ta\tb$/m);
  assert.match(hostsFile(pod({ hostNetwork: true }), names), /^127\.0\.0\.1 localhost$/m);
});

test('the link of a Pod is routed on both sides', () => {
  const link = { uid: 'u', ip: '10.1.0.7', gateway: gatewayOf('10.1.0.0/24'), pid: 42 };
  assert.equal(linkOf('u').length, 14);
  assert.deepEqual(machineCommands(link).trim().split('\n'), [
    `link add ${linkOf('u')} type veth peer name eth0 netns 42`,
    `address add 10.1.0.1/32 dev ${linkOf('u')}`,
    `link set ${linkOf('u')} up`,
    `route replace 10.1.0.7/32 dev ${linkOf('u')}`,
  ]);
  const six = podCommands({ ...link, ip: '2001:db8::7', gateway: gatewayOf('2001:db8::/64') });
  assert.match(six, /^address add 2001:db8::7\/128 dev eth0 nodad$/m);
  assert.match(six, /^route add default via 2001:db8::1 dev eth0$/m);
});

const input = {
  volumes: new Map([['data', '/v/data']]),
  readOnlyVolumes: new Set<string>(),
  resolverFile: '/p/resolv.conf',
  hostsFile: '/p/hosts',
  messageFile: '/p/message',
  variables: { NAME: 'web-0' },
};

test('mounts of the container replace those of its Pod, and outer ones come first', () => {
  const container = {
    name: 'c',
    volumeMounts: [
      { name: 'data', mountPath: '/srv/deep/data', readOnly: true },
      { name: 'data', mountPath: '/srv', subPathExpr: 'logs/$(NAME)' },
      { name: 'data', mountPath: '/etc/hosts', subPath: 'hosts' },
    ],
  } as unknown as Container;
  assert.deepEqual(
    mountsOf(container, input).map(({ source, target, isReadOnly }) => [source, target, isReadOnly]),
    [
      ['/v/data/logs/web-0', '/srv', false],
      ['/v/data/hosts', '/etc/hosts', false],
      ['/v/data', '/srv/deep/data', true],
      ['/p/resolv.conf', '/etc/resolv.conf', false],
      ['/p/message', '/dev/termination-log', false],
    ],
  );
  for (const subPathExpr of ['$(NONE)', '../x', '/x']) {
    const bad = { name: 'c', volumeMounts: [{ name: 'data', mountPath: '/x', subPathExpr }] } as unknown as Container;
    assert.throws(() => mountsOf(bad, input), { name: 'Error' }, subPathExpr);
  }
});

test('links of a layered root directory never lead out of it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-layers-'));
  try {
    const [upper, lower] = [join(directory, 'upper'), join(directory, 'lower')];
    await mkdir(join(upper, 'var'), { recursive: true });
    await mkdir(join(lower, 'run'), { recursive: true });
    await symlink('/run', join(upper, 'var', 'run'));
    await symlink('../../../..', join(lower, 'up'));
    await symlink('loop', join(lower, 'loop'));
    const resolve = (path: string): Promise<string> => layeredPath([upper, lower], path);
    assert.equal(await resolve('/var/run/secrets/x'), '/run/secrets/x');
    assert.equal(await resolve('/up/etc/passwd'), '/etc/passwd');
    assert.equal(await resolve('/none/../a/./b'), '/a/b');
    await assert.rejects(resolve('/loop'), /too many symbolic links/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('programs of a container run after the change of user, with an environment that others do not get', () => {
  const program = {
    argv: ['serve', 'x'],
    env: { PATH: '/bin', LD_PRELOAD: '/evil.so' },
    credentials: { uid: 7, gid: 8, groups: [9] },
  } as const;
  const launch = launchArgv({
    ...program,
    cwd: '/',
    directory: '/p/roots/c',
    layers: ['/images/a:b', '/'],
    mounts: [{ source: '/v', target: '/data', isReadOnly: true }],
    namespaces: 42,
    allowsPrivileges: false,
  });
  for (const argv of [launch, enterArgv(42, program)]) {
    const change = argv.indexOf('chroot');
    assert.deepEqual(argv.slice(change, change + 3), ['chroot', '--userspec=+7:+8', '--groups=+9']);
    assert.ok(argv.indexOf('LD_PRELOAD=/evil.so') > change);
    assert.deepEqual(argv.slice(-2), ['serve', 'x']);
  }
  assert.deepEqual(launch.slice(0, 3), ['setpriv', '--no-new-privs', '--']);
  assert.ok(launch.includes(String.raw`/images/a\:b:/`));
});
