import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import type { RouteProblem } from '../backend.ts';
import { keyOfOwner, serviceOwner } from '../routes/service.ts';

export interface RouteReporterOptions {
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly events: Pick<EventRecorder, 'record'>;
  /** The Service of a key, if there is one. */
  readonly service: (key: Key) => Service | undefined;
}

/** The Service of the API server itself. Its problems are rarely important. */
const apiServer = serviceOwner('default/kubernetes');

/** Reports problems of routes in the log and as Events of their Services, each once while it lasts. */
export class RouteReporter {
  readonly #options: RouteReporterOptions;
  #reported: ReadonlySet<string> = new Set();

  constructor(options: RouteReporterOptions) {
    this.#options = options;
  }

  /** Reports those of the current problems that are new. */
  report(problems: readonly RouteProblem[]): void {
    const current = new Map(problems.map((problem) => [`${problem.owner ?? ''} ${problem.text}`, problem]));
    const fresh = Array.from(current).flatMap(([name, problem]) => (this.#reported.has(name) ? [] : [problem]));
    this.#reported = new Set(current.keys());
    if (fresh.length === 0) return;
    // Several routes can have the same problem, such as all of a range; it is logged once.
    const sentences = Map.groupBy(fresh, ({ text, fullText = text }) => fullText);
    for (const [problem, about] of sentences) {
      const level = about.every(({ owner }) => owner === apiServer) ? 'info' : 'warn';
      this.#options.log[level]({ problem }, 'some routes do not work');
    }
    for (const problem of fresh) if (problem.owner !== apiServer) this.#record(problem);
  }

  #record({ owner = '', reason = 'NotServed', text: message }: RouteProblem): void {
    const { service: find, events } = this.#options;
    const service = find(keyOfOwner(owner));
    if (service !== undefined) events.record(serviceKind, service, { type: 'Warning', reason, message });
  }
}
