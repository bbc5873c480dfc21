// Connections through Gateways of `fairlead up`: the cases of the profiles GATEWAY-TCP and GATEWAY-UDP of the Gateway API.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';

const apiVersion = 'gateway.networking.k8s.io/v1';
const parts = ['--parts', 'server,controllers,proxy,loadbalancer', '--cluster', 'one', '--log-level', 'silent'];

/** Backend → the address of its program. Other tests use other addresses of the machine. */
const programs = { one: '127.192.47.1', two: '127.192.47.2', three: '127.192.47.3' } as const;
type Backend = keyof typeof programs;

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: object;
}

/** A Service in a namespace for TCP and UDP, with the program as its endpoint. */
const backend = (name: Backend, namespace = 'default'): readonly object[] => {
  const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 3000, protocol }));
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-1`, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [programs[name]], conditions: { ready: true } }],
      ports: ports.map((port) => ({ ...port, port: 4700 })),
    },
  ];
};

const gateway = (
  name: string,
  listeners: readonly (readonly [name: string, port: number, protocol: 'TCP' | 'UDP'])[],
): Manifest => ({
  apiVersion,
  kind: 'Gateway',
  metadata: { name },
  spec: {
    gatewayClassName: 'fairlead',
    listeners: listeners.map(([section, port, protocol]) => ({ name: section, port, protocol })),
  },
});

const route = (
  kind: 'TCPRoute' | 'UDPRoute',
  name: string,
  parent: object,
  backendRefs: readonly object[],
): Manifest => ({ apiVersion, kind, metadata: { name }, spec: { parentRefs: [parent], rules: [{ backendRefs }] } });

const to = (name: string, more: object = {}): object => ({ name, port: 3000, ...more });

/** What the program behind a TCP address answers; the code of the error if it cannot be reached. */
async function tcp(host: string, port: number): Promise<string> {
  const socket = connect(port, host);
  socket.setTimeout(5000, () => socket.destroy(new Error('timeout')));
  try {
    const [data] = (await once(socket, 'data')) as [Buffer];
    return data.toString();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'error';
  } finally {
    socket.destroy();
  }
}

/** What the program behind a UDP address answers; '' if there is no answer within a second. */
async function udp(host: string, port: number): Promise<string> {
  const socket = createSocket('udp4');
  try {
    socket.connect(port, host);
    await once(socket, 'connect');
    socket.send('which');
    const [data] = (await once(socket, 'message', { signal: AbortSignal.timeout(1000) })) as [Buffer];
    return data.toString();
  } catch {
    return '';
  } finally {
    socket.close();
  }
}

describe('Gateways of fairlead up', () => {
  const stack = new AsyncDisposableStack();
  let fairlead: Fairlead;
  let kubectl = '';

  const k = async (args: readonly string[], input?: object): Promise<string> => {
    const given = input === undefined ? {} : { input: JSON.stringify(input) };
    const { out, err, code } = await run(kubectl, args, { env: { KUBECONFIG: fairlead.kubeconfig }, ...given });
    assert.equal(code, 0, err);
    return out;
  };
  const apply = (...items: readonly object[]): Promise<string> =>
    k(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
  const address = async (name: string): Promise<string> => {
    await k(['wait', '--for=condition=Programmed', '--timeout=60s', `gateway/${name}`]);
    return k(['get', 'gateway', name, '-o', 'jsonpath={.status.addresses[0].value}']);
  };
  const answers = (ask: () => Promise<string>, want: string): Promise<unknown> =>
    until(`the answer is ${want}`, async () => (await ask()) === want || undefined);

  before(async () => {
    for (const [name, host] of Object.entries(programs)) {
      const server = createServer((socket) => socket.on('error', () => undefined).end(name)).listen(4700, host);
      const datagrams = createSocket('udp4').bind(4700, host);
      datagrams.on('message', (_message, { port, address: source }) => datagrams.send(name, port, source));
      await Promise.all([once(server, 'listening'), once(datagrams, 'listening')]);
      stack.defer(() => void server.close());
      stack.defer(() => void datagrams.close());
    }
    const directory = stack.use(await temporaryDirectory()).path;
    kubectl = (await findKubectls())[0]?.path ?? 'kubectl';
    const config = join(directory, 'config.yaml');
    await writeFile(config, 'loadbalancer:\n  pool: [test=127.47.47.1-127.47.47.99]\n');
    fairlead = await startFairlead(directory, ['up', ...parts, '--config', config]);
    stack.defer(() => fairlead.stop());
    await k(['create', 'namespace', 'other']);
    await apply(...backend('one'), ...backend('two'), ...backend('three'), ...backend('two', 'other'));
  });
  after(() => stack.disposeAsync());

  test('routes attach by port, by name and by both, and to all listeners of their protocol', async () => {
    await apply(
      gateway('many', [
        ['a', 9300, 'TCP'],
        ['b', 9301, 'TCP'],
        ['c', 9302, 'TCP'],
        ['d', 9302, 'UDP'],
        ['e', 9303, 'UDP'],
      ]),
      route('TCPRoute', 'by-port', { name: 'many', port: 9300 }, [to('one')]),
      route('TCPRoute', 'by-section', { name: 'many', sectionName: 'b' }, [to('two')]),
      route('TCPRoute', 'by-both', { name: 'many', sectionName: 'c', port: 9302 }, [to('three')]),
      route('UDPRoute', 'by-none', { name: 'many' }, [to('one')]),
    );
    const at = await address('many');
    await answers(() => tcp(at, 9300), 'one');
    await answers(() => tcp(at, 9301), 'two');
    await answers(() => tcp(at, 9302), 'three');
    await answers(() => udp(at, 9302), 'one');
    await answers(() => udp(at, 9303), 'one');
  });

  test('connections are divided by weight, and a backend of weight 0 gets none', async () => {
    const weights = [to('one', { weight: 70 }), to('two', { weight: 30 }), to('three', { weight: 0 })];
    await apply(gateway('weights', [['a', 9300, 'TCP']]), route('TCPRoute', 'weights', { name: 'weights' }, weights));
    const at = await address('weights');
    await until('a program answers', async () => Object.keys(programs).includes(await tcp(at, 9300)) || undefined);
    const counts = new Map<string, number>();
    for (let sent = 0; sent < 400; sent++) {
      const name = await tcp(at, 9300);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].toSorted(), ['one', 'two']);
    const share = (counts.get('one') ?? 0) / 400;
    assert.ok(share > 0.6 && share < 0.8, `70 % of the weight got ${share} of the connections`);
  });

  test('of two routes at one listener the older gets all connections, and its removal gives them to the other', async () => {
    await apply(gateway('pair', [['a', 9300, 'TCP']]), route('TCPRoute', 'older', { name: 'pair' }, [to('one')]));
    const at = await address('pair');
    await answers(() => tcp(at, 9300), 'one');
    await new Promise((resolve) => setTimeout(resolve, 1100)); // creation times have seconds
    await apply(route('TCPRoute', 'newer', { name: 'pair' }, [to('two')]));
    await until('both are attached', async () => {
      const count = await k(['get', 'gateway', 'pair', '-o', 'jsonpath={.status.listeners[0].attachedRoutes}']);
      return count === '2' || undefined;
    });
    for (let sent = 0; sent < 50; sent++) assert.equal(await tcp(at, 9300), 'one');
    await k(['delete', 'tcproute', 'older']);
    await answers(() => tcp(at, 9300), 'two');
  });

  test('without a usable backend connections are refused, until a ReferenceGrant permits it', async () => {
    await apply(
      gateway('grants', [
        ['a', 9300, 'TCP'],
        ['b', 9301, 'TCP'],
      ]),
      route('TCPRoute', 'missing', { name: 'grants', port: 9300 }, [to('none')]),
      route('TCPRoute', 'foreign', { name: 'grants', port: 9301 }, [to('two', { namespace: 'other' })]),
    );
    const at = await address('grants');
    await answers(() => tcp(at, 9300), 'ECONNREFUSED');
    await answers(() => tcp(at, 9301), 'ECONNREFUSED');
    await apply({
      apiVersion,
      kind: 'ReferenceGrant',
      metadata: { name: 'two', namespace: 'other' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: 'default' }],
        to: [{ group: '', kind: 'Service', name: 'two' }],
      },
    });
    await answers(() => tcp(at, 9301), 'two');
    await k(['delete', 'referencegrant', '-n', 'other', 'two']);
    await answers(() => tcp(at, 9301), 'ECONNREFUSED');
  });

  test('a deleted Gateway leaves nothing that answers', async () => {
    await apply(gateway('gone', [['a', 9300, 'TCP']]), route('TCPRoute', 'gone', { name: 'gone' }, [to('one')]));
    const at = await address('gone');
    await answers(() => tcp(at, 9300), 'one');
    await k(['delete', 'gateway', 'gone']);
    await answers(() => tcp(at, 9300), 'ECONNREFUSED');
    await until(
      'its Service is gone',
      async () =>
        (await k(['get', 'services', '-o', 'name', '-l', 'gateway.networking.k8s.io/gateway-name=gone'])) === '' ||
        undefined,
    );
  });
});
