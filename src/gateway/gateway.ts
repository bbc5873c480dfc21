import { messageOf } from '../api/error-message.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { Place } from '../api/kinds/multicluster/gateway.ts';
import { gatewayManagedBy, gatewayService } from '../api/kinds/multicluster/gateway.ts';
import { sourceClusterLabel } from '../api/kinds/multicluster/labels.ts';
import type { Clock } from '../client/clock.ts';
import { sleep, systemClock } from '../client/clock.ts';
import { onAnyChange } from '../client/handlers.ts';
import { Informers } from '../client/informers.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { setImmediate } from '../machine/timers.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { EgressListeners } from './egress.ts';
import type { GatewayTls } from './identity.ts';
import { clusterOfFiles } from './identity.ts';
import { Ingress } from './ingress.ts';
import { gatewayMetrics } from './metrics.ts';
import type { RegistrarTimes } from './registration.ts';
import { Registrar } from './registration.ts';
import { Relays } from './relays.ts';
import { ReverseSession } from './reverse.ts';
import { routesOf } from './routes.ts';
import { SessionPool } from './session-pool.ts';

export interface GatewayOptions {
  /** Where gateways of other clusters connect. */
  readonly listen: Place;
  /** The address of this replica in its own cluster, where clients connect. */
  readonly address: string;
  /** Gateways that relay connections to this one, because it cannot be dialled. */
  readonly relays: readonly Place[];
  /** Certificates, read again after `renewMs`. */
  readonly tls: () => Promise<GatewayTls>;
  readonly renewMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly probeTimes?: ProbeTimes | undefined;
  readonly registrarTimes?: RegistrarTimes | undefined;
}

const defaultRenewMs = 10_000;
/** How often gateways of other clusters are dialled that have no session. */
const checkMs = 1000;
/** How long open connections may take to end when the gateway stops. */
const drainMs = 5000;

/** Starts a gateway, which connects the Services of this cluster and of the other clusters of its set. */
export function startGateway(context: PartContext, options: GatewayOptions): RunningPart {
  const stop = new AbortController();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined); // the runner observes it
  const stack = new AsyncDisposableStack();
  let problems: () => readonly string[] = () => [];
  const listens: { readonly address: string; readonly port: number }[] = [];
  const ready = run(context, options, {
    stack,
    signal: stop.signal,
    fail: failure.reject,
    onStart(started) {
      problems = started.problems;
      listens.push({ address: options.listen.host, port: started.port });
    },
  });
  ready.catch(() => undefined);
  return {
    ready,
    failed: failure.promise,
    problems: () => problems(),
    listens,
    async [Symbol.asyncDispose]() {
      stop.abort(); // first, so that a start that waits for the API server ends
      await ready.catch(() => undefined);
      await stack.disposeAsync();
    },
  };
}

interface Run {
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
  readonly fail: (error: unknown) => void;
  readonly onStart: (started: { readonly port: number; readonly problems: () => readonly string[] }) => void;
}

async function run(
  { client, log, metrics: registry }: PartContext,
  { address, clock = systemClock, probeTimes, renewMs = defaultRenewMs, ...options }: GatewayOptions,
  { stack, signal, fail, onStart }: Run,
): Promise<void> {
  let tls = await options.tls();
  const own = clusterOfFiles(tls);
  const pool = new SessionPool({ tls: () => tls, clock, log, probeTimes });
  const relays = new Relays({ log, probeTimes });
  const metrics = gatewayMetrics(registry, { sessions: () => pool.sessions, peers: () => ingress.sessions });
  const ingress = new Ingress({ own, tls, relays, metrics, log, probeTimes });
  const egress = new EgressListeners({ address, pool, metrics, log });
  const port = await ingress.listen(options.listen);

  const informers = new Informers({ client, log, clock });
  const slices = informers.of(endpointSliceKind, { labelSelector: sourceClusterLabel });
  const replicas = informers.of(endpointSliceKind, {
    namespace: gatewayService.namespace,
    labelSelector: `${managedByLabel}=${gatewayManagedBy}`,
  });
  let routes = routesOf([], own);
  let isDue = false;
  const update = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      // Before the caches have synced, a cluster looks like one without exports.
      if (signal.aborted || !slices.hasSynced) return;
      routes = routesOf(slices.list(), own);
      ingress.update(routes);
      egress.update(routes.egress);
    });
  };
  slices.subscribe(onAnyChange(update));
  informers.start();
  void slices.synced(signal).then(update, () => undefined); // stopped first

  let isStopping = false;
  const registrar = new Registrar({
    client,
    clock,
    log,
    own: () => ({ place: { host: address, port }, isReady: !isStopping, problems: pool.problems() }),
    registered: () => replicas.list(),
    times: options.registrarTimes,
  });
  const reverse = options.relays.map(
    (relay) =>
      new ReverseSession({
        relay,
        tls: () => tls,
        accept: (connection) => ingress.accept(connection),
        log,
        clock,
        probeTimes,
      }),
  );
  let renewalProblem: string | undefined;
  onStart({
    port,
    problems: () => [
      ...informers.unsynced(),
      ...(registrar.problem === undefined ? [] : [`this gateway is not registered: ${registrar.problem}`]),
      ...reverse.flatMap(({ problem }) => problem ?? []),
      ...egress.problems(),
    ],
  });
  const running = Promise.all([
    ...reverse.map((each) => each.run(signal)),
    every(clock, checkMs, signal, () => {
      egress.retry();
      return pool.check([...routes.egress.values()]);
    }),
    every(clock, renewMs, signal, async () => {
      const next = await readRenewed(options.tls, own).catch((error: unknown) => {
        const reason = messageOf(error);
        if (reason !== renewalProblem)
          log.error({ reason }, 'certificates not reloaded, the previous ones stay in use');
        renewalProblem = reason;
        return undefined;
      });
      if (next === undefined) return;
      renewalProblem = undefined;
      if (next.cert === tls.cert && next.key === tls.key && next.ca === tls.ca) return;
      tls = next;
      ingress.renew(tls);
      pool.renew();
      log.info({ cluster: own }, 'certificates renewed');
    }),
    informers.synced(signal).then(
      () => registrar.run(signal),
      () => undefined,
    ),
  ]).catch(fail);
  stack.defer(async () => {
    isStopping = true;
    await registrar.register().catch(() => undefined);
    ingress.drain();
    for (let waited = 0; ingress.sessions > 0 && waited < drainMs; waited += 50) await sleep(clock, 50, never);
    await egress[Symbol.asyncDispose]();
    await ingress[Symbol.asyncDispose]();
    pool[Symbol.dispose]();
    relays[Symbol.dispose]();
    await running;
    await informers.stop();
  });
  await Promise.all([slices.synced(signal), replicas.synced(signal)]);
}

const never = new AbortController().signal;

/** Reads the certificates. Rejects if they cannot be used, such as while their files are being written. */
async function readRenewed(read: () => Promise<GatewayTls>, own: string): Promise<GatewayTls> {
  const tls = await read();
  const cluster = clusterOfFiles(tls);
  if (cluster !== own) throw new Error(`the certificate is of cluster ${cluster}, expected cluster ${own}`);
  return tls;
}

/** Runs work repeatedly, with pauses between the runs, until the signal fires. */
async function every(clock: Clock, ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await sleep(clock, ms, signal).catch(() => undefined);
  }
}
