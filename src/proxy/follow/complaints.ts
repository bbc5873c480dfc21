import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import type { RouteProblem } from '../backend.ts';
import { keyOfOwner, serviceOwner } from '../routes/service.ts';

export interface ComplaintsOptions {
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly events: Pick<EventRecorder, 'record'>;
  /** The Service of a key, if there is one. */
  readonly service: (key: Key) => Service | undefined;
}

/** The Service that every API server makes of itself. Nobody asked for it, and few miss it. */
const apiServer = serviceOwner('default/kubernetes');

/** Tells what is wrong with single routes, each thing once as long as it lasts: in the log and on the Service. */
export class Complaints {
  readonly #options: ComplaintsOptions;
  #said: ReadonlySet<string> = new Set();

  constructor(options: ComplaintsOptions) {
    this.#options = options;
  }

  /** Everything that is wrong now. */
  tell(problems: readonly RouteProblem[]): void {
    const saying = new Map(problems.map((problem) => [`${problem.owner ?? ''} ${problem.text}`, problem]));
    const fresh = Array.from(saying).flatMap(([name, problem]) => (this.#said.has(name) ? [] : [problem]));
    this.#said = new Set(saying.keys());
    if (fresh.length === 0) return;
    // One sentence may be about many, such as all in a range; the log has it once.
    const sentences = Map.groupBy(fresh, ({ text, fullText = text }) => fullText);
    for (const [problem, about] of sentences) {
      const level = about.every(({ owner }) => owner === apiServer) ? 'info' : 'warn';
      this.#options.log[level]({ problem }, 'not all routes work');
    }
    for (const problem of fresh) this.#record(problem);
  }

  #record({ owner = '', reason = 'NotServed', text: message }: RouteProblem): void {
    const { service: find, events } = this.#options;
    const service = find(keyOfOwner(owner));
    if (service !== undefined) events.record(serviceKind, service, { type: 'Warning', reason, message });
  }
}
