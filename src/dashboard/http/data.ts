// Requests of the page, besides rows.
import { Semaphore } from '../../machine/semaphore.ts';
import { balancerPlans } from '../answers/balancer-plans.ts';
import type { ClusterSet } from '../answers/cluster-set.ts';
import { AnswerError } from '../answers/errors.ts';
import { plannedExport } from '../answers/planned-export.ts';
import { answersTo } from '../answers/questions.ts';
import { detailsOf } from '../answers/service-details.ts';
import { requireRightsInAll, sharingOf } from '../answers/sharing.ts';
import type { Board } from '../server/board.ts';
import type { Viewer } from '../server/viewer.ts';
import { parseId } from '../view/ids.ts';
import type { ImportRow, ServiceRow } from '../view/rows.ts';
import { textField } from './answer.ts';

export interface DataRequest {
  /** As in `GET /api/details`. */
  readonly what: string;
  readonly query: URLSearchParams;
  /** Reads the body of a POST. */
  readonly body: () => Promise<Readonly<Record<string, unknown>>>;
}

export interface DataSources {
  readonly board: Board;
  readonly set: ClusterSet;
  readonly viewer: Viewer;
}

/** Questions cost processor time: some are answered at once, some wait, and more are rejected. */
const [atOnce, waiting] = [4, 32];

/** Answers questions of pages, a few at a time. */
export class DataAnswers {
  readonly #semaphore = new Semaphore(atOnce);
  #pending = 0;

  /** The answer; undefined: there is no such path. Rejects with an AnswerError. */
  async answer(request: DataRequest, sources: DataSources): Promise<unknown> {
    if (this.#pending >= atOnce + waiting) throw new AnswerError(503, 'too many questions at once: try again');
    this.#pending++;
    try {
      return await this.#semaphore.run(() => answerTo(request, sources));
    } finally {
      this.#pending--;
    }
  }
}

async function answerTo({ what, query, body }: DataRequest, sources: DataSources): Promise<unknown> {
  const { set, viewer } = sources;
  const field = (name: string): string => query.get(name) ?? '';
  switch (what) {
    case 'GET /api/details': {
      const { row, feed, source } = rowOf(field('id'), sources);
      return detailsOf(row, { feed, source, set, rightsIn: viewer.rightsIn });
    }
    case 'GET /api/sharing': {
      const { row } = rowOf(field('id'), sources);
      const key = `${row.namespace}/${row.name}`;
      requireRightsInAll(key, set, viewer);
      return sharingOf(key, row.cluster, set);
    }
    case 'GET /api/ask':
      return answersTo({ text: field('text').trim(), type: field('type') || 'A', cluster: field('cluster') }, sources);
    case 'POST /api/plan/export':
      return plannedExport(await body(), sources);
    case 'POST /api/plan/balancer':
      return balancerPlans(textField(await body(), 'manifest'));
    default:
      return undefined;
  }
}

/** The row of an id, as the viewer sees it. */
function rowOf(id: string, { board, set, viewer }: DataSources) {
  const { cluster } = parseId(id);
  const feed = viewer.sees(cluster) ? board.feed(cluster) : undefined;
  const source = set.sources.get(cluster);
  const row: ServiceRow | ImportRow | undefined = withoutCluster(board.row(id, viewer.rightsIn));
  if (feed === undefined || source === undefined || row === undefined)
    throw new AnswerError(404, 'it no longer exists');
  return { row, feed, source };
}

const withoutCluster = (row: ReturnType<Board['row']>): ServiceRow | ImportRow | undefined =>
  row?.kind === 'cluster' ? undefined : row;
