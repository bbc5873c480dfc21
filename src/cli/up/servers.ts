import type { Notice } from '../../store/sqlite/protocol.ts';
import type { Logger } from 'pino';
import { joinHostPort } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Gates } from '../../api/gates.ts';
import type { LocalReply, LocalRequest } from '../../client/in-process.ts';
import type { StaticToken } from '../../server/access/identity/static-tokens.ts';
import type { KeyPair } from '../../server/pki/issue.ts';
import type { AdmissionPlugins } from '../../server/admission/plugins.ts';
import type { AuditOptions } from '../../server/audit/options.ts';
import { auditPathOfCluster } from '../../server/audit/options.ts';
import type { Encryption } from '../../server/encryption/encryption.ts';
import type { LimitOptions } from '../../server/limits/options.ts';
import type { TimeSlicer } from '../../server/limits/time-slicer.ts';
import type { NodeClientOptions } from '../../server/nodes/node-client.ts';
import type { Pki } from '../../server/pki/pki.ts';
import type { User } from '../../api/user.ts';
import type { startServer as startServerType } from '../../server/server.ts';
import type { Store } from '../../store/store.ts';
import { version } from '../program.ts';
import { codesOf, FatalError } from '../errors.ts';
import type { PortRange } from '../options/values.ts';
import type { DataDirectory } from './data-directory.ts';
import type { EtcdOptions } from './etcd.ts';
import { openEtcd } from './etcd.ts';
import type { ClusterOptions, StoreKind } from './options.ts';

/** The folder of the data directory with the keys of service account tokens, one folder for each cluster. */
export const tokenKeys = 'token-keys';

/** A running API server. */
export interface RunningServer {
  readonly cluster: ClusterOptions;
  readonly url: string;
  /** Handles a request of this process, as the given user without authentication. */
  handle(request: LocalRequest, user: User): Promise<LocalReply>;
  /** Its current certificate. */
  tls(): KeyPair & { readonly ca: string };
  /** Replaces its certificate. */
  renew(pki: Pki): void;
}

/** An open store, and the imported code of the server. */
export interface OpenCluster {
  readonly startServer: typeof startServerType;
  readonly store: Store;
}

/** The options that the servers of one control plane share. */
export interface ServerSetup {
  readonly directory: DataDirectory;
  readonly store: StoreKind;
  readonly etcd: EtcdOptions | undefined;
  /** Bytes a store may hold; undefined: the default. */
  readonly quotaBytes: number | undefined;
  /** Opens stores that have lost acknowledged writes. */
  readonly acceptDataLoss: boolean;
  /** Cluster → its certificates. */
  readonly pkis: ReadonlyMap<string, Pki>;
  readonly gates: Gates;
  readonly nodePorts: PortRange;
  readonly tokens: readonly StaticToken[];
  readonly admissionPlugins: AdmissionPlugins;
  /** Connections to nodes; without a client certificate of its own a server uses that of its cluster. */
  readonly nodeClient: NodeClientOptions;
  readonly limits: Partial<LimitOptions>;
  /** Shared by the servers of one process, which share its event loop. */
  readonly slices: TimeSlicer;
  readonly audit: AuditOptions | undefined;
  readonly encryption: Encryption | undefined;
  /** All clusters: each of several has an audit log of its own. */
  readonly clusters: readonly ClusterOptions[];
  /** The issuer of service account tokens; undefined: Kubernetes' default. */
  readonly issuer: string | undefined;
  readonly log: Logger;
  /** Metrics that `/metrics` of a cluster serves in addition to its server's. */
  readonly moreMetrics: (cluster: string) => Promise<string>;
  /** The flag that changes the port, for errors. */
  readonly portFlag: string;
  /** Closes what was started, in reverse order. */
  readonly stack: AsyncDisposableStack;
}

/** Imports the server and opens a cluster's store, which takes longest and needs no certificate. The stack closes the store. */
export async function openCluster(
  cluster: ClusterOptions,
  setup: StoreSetup & Pick<ServerSetup, 'stack'>,
): Promise<OpenCluster> {
  const [{ startServer }, store] = await Promise.all([import('../../server/server.ts'), openStore(cluster, setup)]);
  setup.stack.use(store);
  return { startServer, store };
}

/** Starts the API server of one cluster; the stack closes it. */
export async function startCluster(
  cluster: ClusterOptions,
  { startServer, store }: OpenCluster,
  setup: ServerSetup,
): Promise<RunningServer> {
  const pki = setup.pkis.get(cluster.name);
  if (pki === undefined) throw new Error(`bug: no certificates were made for cluster "${cluster.name}"`);
  try {
    const server = await startServer({
      name: cluster.name,
      version,
      store,
      listen: cluster.listen,
      advertise: cluster.advertise,
      tls: tlsOf(pki),
      gates: setup.gates,
      serviceCidrs: cluster.serviceCidrs,
      nodePorts: setup.nodePorts,
      loopbackEndpoints: cluster.loopbackEndpoints,
      otherAllocatedCidrs: setup.clusters.flatMap((each) => [...each.serviceCidrs, ...(each.superclusterCidrs ?? [])]),
      admissionPlugins: setup.admissionPlugins,
      tokens: setup.tokens,
      limits: setup.limits,
      nodeClient:
        setup.nodeClient.cert === undefined ? { ...setup.nodeClient, ...pki.kubeletClient } : setup.nodeClient,
      frontProxy: pki.frontProxy,
      timeSlicer: setup.slices,
      audit: auditOf(cluster, setup),
      encryption: setup.encryption,
      accountTokens: {
        keyDirectory: setup.directory.at(tokenKeys, cluster.name),
        ...(setup.issuer === undefined ? {} : { issuer: setup.issuer }),
      },
      log: setup.log.child({ cluster: cluster.name }),
      additionalMetrics: () => setup.moreMetrics(cluster.name),
    });
    setup.stack.defer(() => server.close());
    let tls = tlsOf(pki);
    return {
      cluster,
      url: urlOf(cluster, server.port),
      handle: (request, user) => server.handle({ ...request, user }),
      tls: () => tls,
      renew(next) {
        tls = tlsOf(next);
        server.renew(tls, {
          ...(setup.nodeClient.cert === undefined ? { nodeClient: next.kubeletClient } : {}),
          frontProxy: next.frontProxy,
        });
      },
    };
  } catch (error) {
    throw listenError(error, cluster, setup.portFlag);
  }
}

const tlsOf = ({ serving, ca }: Pki): KeyPair & { readonly ca: string } => ({ ...serving, ca });

const auditOf = ({ name }: ClusterOptions, { audit, clusters }: ServerSetup): AuditOptions | undefined =>
  audit === undefined || clusters.length === 1 ? audit : { ...audit, path: auditPathOfCluster(audit.path, name) };

/** The URL for clients. */
function urlOf({ advertise, listen: { host } }: ClusterOptions, port: number): string {
  const address = advertise ?? host;
  // It is an address or a host name; Node's test for IPv6 takes tens of milliseconds at its first use.
  return `https://${joinHostPort(address, port)}`;
}

type StoreSetup = Pick<
  ServerSetup,
  'store' | 'etcd' | 'directory' | 'quotaBytes' | 'acceptDataLoss' | 'clusters' | 'log'
> & {
  /** Cluster → its certificates, which are made while the stores open. */
  readonly certificates: Promise<ReadonlyMap<string, Pki>>;
};

async function openStore({ name, etcdPrefix }: ClusterOptions, setup: StoreSetup): Promise<Store> {
  const { store, etcd, directory, acceptDataLoss, log, clusters, certificates } = setup;
  const { effectiveQuota } = await import('../../store/limits.ts');
  const quotaBytes = effectiveQuota(setup.quotaBytes, { stores: clusters.length });
  switch (store) {
    case 'memory': {
      const { openMemoryStore } = await import('../../store/memory/memory.ts');
      return openMemoryStore({ quotaBytes });
    }
    case 'sqlite': {
      const { openSqliteStore } = await import('../../store/sqlite/sqlite.ts');
      const onNotice = ({ message, keys }: Notice): void => log.warn({ cluster: name, ...keys }, message);
      return openSqliteStore({ path: directory.at('clusters', name), quotaBytes, acceptDataLoss, onNotice });
    }
    case 'etcd': {
      const pki = (await certificates).get(name);
      if (etcd === undefined || pki === undefined) throw new Error('bug: etcd is used without its options');
      return openEtcd(etcd, { name, prefix: etcdPrefix ?? '/registry', ca: pki.ca, quotaBytes, log });
    }
  }
}

function listenError(error: unknown, { name, listen }: ClusterOptions, portFlag: string): unknown {
  const where = `the API server of cluster "${name}"`;
  const codes = codesOf(error);
  if (codes.includes('EADDRINUSE')) {
    return new FatalError(
      `port ${listen.port} for ${where} is in use: stop the program that uses it or pass ${portFlag}`,
      {
        cause: error,
      },
    );
  }
  if (codes.includes('EACCES')) {
    return new FatalError(`port ${listen.port} for ${where} is not allowed: pass ${portFlag} with 1024 or more`, {
      cause: error,
    });
  }
  if (codes.includes('EADDRNOTAVAIL')) {
    return new FatalError(
      `address ${listen.host} for ${where} is not an address of this machine: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  return error;
}
