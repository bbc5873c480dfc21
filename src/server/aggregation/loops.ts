import { customResourceDefinitionKind } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { apiServiceKind } from '../../api/kinds/apiregistration/apiservice/kind.ts';
import type { ServerContext } from '../context.ts';
import { setTimeout } from '../../machine/timers.ts';
import { ReconcileQueue } from '../lifecycle/reconcile-queue.ts';
import type { Authorities } from './authentication-config.ts';
import { ensureAuthenticationConfig } from './authentication-config.ts';
import { AvailabilityChecks } from './availability.ts';
import { ensureRegistrations } from './registrations.ts';

const registrationDelayMs = 100;

/** The background work of the aggregation layer. */
export class AggregationLoops {
  readonly #context: ServerContext;
  readonly #checks: AvailabilityChecks;
  readonly #watches = new DisposableStack();
  readonly #queue: ReconcileQueue;
  #authorities: Authorities;
  #isStart = true;
  #registration: NodeJS.Timeout | undefined;

  constructor(context: ServerContext, authorities: Authorities) {
    this.#context = context;
    this.#authorities = authorities;
    this.#checks = new AvailabilityChecks(context);
    const log = context.log.child({ loop: 'aggregation layer' });
    const reconcile: Readonly<Record<string, () => Promise<void>>> = {
      registrations: () => this.#register(),
      authorities: () => ensureAuthenticationConfig(context, this.#authorities),
    };
    this.#queue = new ReconcileQueue({
      reconcile: async (key) => {
        await reconcile[key]?.();
        return true;
      },
      onError: (key, err) => log.warn({ err }, `failed to write ${key} of the aggregation layer, retrying`),
    });
  }

  /** Resolves when the APIServices of this server and the ConfigMap for aggregated servers are written. */
  async start(): Promise<void> {
    const { watchCache } = this.#context;
    this.#queue.enqueue('registrations');
    this.#queue.enqueue('authorities');
    await this.#queue.idle();
    for (const kind of [customResourceDefinitionKind, apiServiceKind]) {
      this.#watches.use(
        watchCache.of(kind).watchers.watch(({ item, previous }) => {
          // A status cannot change what is registered, except that of a definition.
          if (kind === apiServiceKind && item !== undefined && previous === undefined) return;
          this.#registerSoon();
        }),
      );
    }
    this.#checks.start();
  }

  /** Many definitions that are created at once cause few passes over all kinds. */
  #registerSoon(): void {
    this.#registration ??= setTimeout(() => {
      this.#registration = undefined;
      this.#queue.enqueue('registrations');
    }, registrationDelayMs);
  }

  /** Publishes other authorities of client certificates, and of the front proxy. */
  publish(authorities: Partial<Authorities>): void {
    this.#authorities = { ...this.#authorities, ...authorities };
    this.#queue.enqueue('authorities');
  }

  /** Writes the ConfigMap again, if it was changed or deleted. */
  restore(): void {
    this.#queue.enqueue('authorities');
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#watches.dispose();
    clearTimeout(this.#registration);
    await this.#checks.close();
    await this.#queue.close();
  }

  async #register(): Promise<void> {
    await this.#context.resources.settled();
    await ensureRegistrations(this.#context, this.#isStart);
    this.#isStart = false;
  }
}
