import { pino } from 'pino';

import { gatesWith } from '../../api/gates.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store } from '../../store/store.ts';
import type { KeyPair } from '../pki/issue.ts';
import { issue, issueCa } from '../pki/issue.ts';
import type { RunningServer, ServerOptions } from '../server.ts';
import { startServer } from '../server.ts';

/** An API server with a listener, for tests of connections. Token `secret` and the certificate `admin` may do everything. */
export interface HttpsServer extends AsyncDisposable {
  readonly server: RunningServer;
  readonly store: Store;
  readonly ca: KeyPair;
  readonly admin: KeyPair;
}

const validity = { now: new Date(), days: 1 };

/** A client certificate of an administrator, signed by `ca`. */
export const adminCertificate = (ca: KeyPair, commonName = 'admin'): Promise<KeyPair> =>
  issue(ca, { use: 'client', commonName, groups: ['system:masters'] }, validity);

/** A certificate authority of a test. */
export const testCa = (name: string): Promise<KeyPair> => issueCa(name, validity);

/** Starts a server on a free port. */
export async function startHttpsServer(more: Partial<ServerOptions> = {}, authority?: KeyPair): Promise<HttpsServer> {
  const ca = authority ?? (await testCa('test-ca'));
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  const serving = await issue(ca, { use: 'server', commonName: 'test', names }, validity);
  const store = openMemoryStore();
  const server = await startServer({
    name: 'test',
    version: '0.0.0',
    store,
    listen: { host: '127.0.0.1', port: 0 },
    tls: { ...serving, ca: ca.cert },
    gates: gatesWith({}),
    serviceCidrs: ['10.0.0.0/24'],
    nodePorts: { from: 30000, to: 32767 },
    loopbackEndpoints: [],
    tokens: [{ token: 'secret', user: 'robot', uid: '7', groups: ['system:masters'] }],
    log: pino({ level: 'silent' }),
    ...more,
  });
  return {
    server,
    store,
    ca,
    admin: await adminCertificate(ca),
    async [Symbol.asyncDispose]() {
      await server.close();
      await store.close();
    },
  };
}
