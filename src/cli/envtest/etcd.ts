import { once } from 'node:events';
import { createServer } from 'node:http';

import { version } from '../program.ts';
import type { Streams } from '../output.ts';
import { listenForStop } from '../process/signals.ts';
import { etcdListenAddress, parseKubeFlags } from './kube-flags.ts';

// envtest looks for --unsafe-no-fsync here, and passes it to an etcd that has it.
const help = `etcd of envtest, run by Fairlead ${version}: it only reports that it is healthy. The API server keeps its objects in memory.
`;

/** Answers the health checks of envtest in place of etcd, until SIGTERM. */
export async function runEtcd(args: readonly string[], { out }: Streams): Promise<number> {
  const flags = parseKubeFlags(args);
  if (flags.has('help') || flags.has('h')) {
    out(help);
    return 0;
  }
  const { host, port } = etcdListenAddress(flags);
  using stop = listenForStop(process, (code) => process.exit(code));
  const server = createServer((request, response) => {
    const isHealth = request.url === '/health' || request.url === '/readyz' || request.url === '/livez';
    response.writeHead(isHealth ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(isHealth ? '{"health":"true","reason":""}\n' : '{"error":"only the health of this etcd is served"}\n');
  });
  server.listen(port, host);
  await once(server, 'listening');
  if (!stop.requested.aborted) await once(stop.requested, 'abort');
  server.closeAllConnections();
  server.close();
  return 0;
}
