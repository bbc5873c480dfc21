import { configMapKind } from '../../src/api/kinds/core/configmap/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { Informer } from '../../src/client/informer.ts';
import type { Result } from '../api.bench.ts';
import { Connection } from '../client.ts';
import type { RunningServers } from './programs.ts';

const path = '/api/v1/namespaces/default/configmaps';
const watcherCount = 20;

/**
 * The time from the end of a server until the slowest of its watchers has the first object that was created afterwards
 * through another server.
 */
export async function measureFailover(servers: RunningServers): Promise<Result> {
  const [first, second] = servers.targets;
  if (first === undefined || second === undefined) throw new Error('bug: failover needs two servers');
  const urls = servers.targets.map(({ host, port }) => `https://${host}:${port}`);
  const stop = new AbortController();
  const arrivals = Array.from({ length: watcherCount }, () => Promise.withResolvers<number>());
  for (const arrival of arrivals) {
    const [server = '', ...otherServers] = urls;
    const credentials = (): Promise<{ token: string }> => Promise.resolve({ token: first.token });
    const access = { server, otherServers, insecureSkipTlsVerify: true, credentials };
    const informer = new Informer(new Client(overHttps(access)), configMapKind, { namespace: 'default' });
    informer.subscribe({
      added: ({ metadata }) => {
        if (metadata.name === 'after') arrival.resolve(performance.now());
      },
    });
    void informer.run(stop.signal); // ends with the signal
    await informer.synced(stop.signal);
  }
  const writer = await Connection.open(second);
  await servers.kill(0);
  const killed = performance.now();
  await writer.request('POST', path, JSON.stringify({ metadata: { name: 'after' } }));
  const last = Math.max(...(await Promise.all(arrivals.map(({ promise }) => promise))));
  stop.abort();
  writer.close();
  return { name: `failover of ${watcherCount} watches, the slowest`, unit: 'ms', value: last - killed };
}
