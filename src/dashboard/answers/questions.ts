// Answers to a DNS name or an address, as the clusters give them.
import { canonicalAddress } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import type { ExplainedAnswer, Question } from '../../dns/inspect.ts';
import { parseQuestion, reverseName } from '../../dns/inspect.ts';
import type { Board } from '../server/board.ts';
import type { ClusterFeed } from '../server/cluster-feed.ts';
import type { Viewer } from '../server/viewer.ts';
import type { Answer, Answers, Holder } from '../view/details.ts';
import { importId, serviceId } from '../view/ids.ts';
import type { ClusterSet } from './cluster-set.ts';
import { recordLine } from './connection-path.ts';
import { AnswerError } from './errors.ts';

export interface Asked {
  /** A DNS name or an address. */
  readonly text: string;
  /** Such as `A`; ignored for addresses. */
  readonly type: string;
  /** '' for all clusters. */
  readonly cluster: string;
}

export interface Sources {
  readonly board: Board;
  readonly set: ClusterSet;
  readonly viewer: Viewer;
}

/** Answers in each cluster that the viewer sees, or in one. Rejects with an AnswerError if the question is invalid. */
export async function answersTo({ text, type, cluster }: Asked, { board, set, viewer }: Sources): Promise<Answers> {
  const feeds = board.feeds.filter(
    ({ cluster: { name } }) => viewer.sees(name) && (cluster === '' || name === cluster),
  );
  if (feeds.length === 0) throw new AnswerError(404, `there is no cluster "${cluster}"`);
  const address = canonicalAddress(text);
  const answers = feeds.map(async (feed): Promise<Answer> => {
    const { name } = feed.cluster;
    const question =
      address === undefined ? questionOf(completed(text, feed, set), type) : questionOf(reverseName(address), 'PTR');
    const namespace = namespaceOf(question.name);
    if (namespace !== undefined && !viewer.rightsIn(name, namespace).services) {
      return failed(name, text, `you may not list Services in namespace ${namespace} of cluster ${name}`);
    }
    try {
      const [answer] = await set.query(name, [question], feed.lost);
      if (answer === undefined) throw new Error('bug: a question without an answer');
      const hidden = sourcesOf(answer).some((source) => !isVisible(source, name, viewer));
      return hidden ? failed(name, text, 'it names objects that you may not read') : answerOf(name, answer);
    } catch (error) {
      return failed(name, text, messageOf(error));
    }
  });
  return {
    answers: await Promise.all(answers),
    holders: address === undefined ? [] : feeds.flatMap((feed) => holdersIn(feed, address, viewer)),
  };
}

function questionOf(name: string, type: string): Question {
  try {
    return parseQuestion({ name, type });
  } catch (cause) {
    throw new AnswerError(400, messageOf(cause), { cause });
  }
}

/** `web.shop` is completed as by the resolver of a Pod, if `shop` is a namespace. */
function completed(text: string, feed: ClusterFeed, set: ClusterSet): string {
  const labels = text.split('.');
  const domain = set.sources.get(feed.cluster.name)?.dns.zones.clusterDomain;
  const isShort = labels.length === 2 && domain !== undefined && feed.namespaces().has(labels[1] ?? '');
  return isShort ? `${text}.svc.${domain}` : text;
}

/** The namespace of a name below `svc`. */
function namespaceOf(name: string): string | undefined {
  const labels = name.split('.');
  const svc = labels.lastIndexOf('svc');
  return svc > 0 ? labels[svc - 1] : undefined;
}

const sourcesOf = ({ answers, authority, additional }: ExplainedAnswer): readonly string[] =>
  [...answers, ...authority, ...additional].flatMap(({ sources }) => sources);

/** Whether a source such as `Service/shop/web` may be named. */
function isVisible(source: string, cluster: string, viewer: Viewer): boolean {
  const [kind, namespace = '', name] = source.split('/');
  if (viewer.isOwner || name === undefined) return true;
  const { services, endpointslices } = viewer.rightsIn(cluster, namespace);
  return services && (kind !== 'EndpointSlice' || endpointslices);
}

const answerOf = (cluster: string, answer: ExplainedAnswer): Answer => ({
  cluster,
  rcode: answer.rcode,
  question: answer.question,
  records: [...answer.answers, ...answer.additional].map(recordLine),
  why: answer.why,
});

const failed = (cluster: string, question: string, reason: string): Answer => ({
  cluster,
  rcode: 'no answer',
  question,
  records: [],
  why: [reason],
});

/** Limits the length of the page. */
const maxHolders = 100;

function holdersIn(feed: ClusterFeed, address: string, viewer: Viewer): readonly Holder[] {
  const { name: cluster } = feed.cluster;
  return Array.from(feed.holdersOf(address))
    .filter(({ kind, key, what }) => {
      const rights = viewer.rightsIn(cluster, key.split('/')[0] ?? '');
      if (kind === 'import') return rights.serviceimports;
      return rights.services && (what !== 'endpoint' || rights.endpointslices);
    })
    .slice(0, maxHolders)
    .map(({ kind, key, what }) => ({
      cluster,
      id: kind === 'import' ? importId(cluster, key) : serviceId(cluster, key),
      text: `${what} of ${kind === 'import' ? 'import' : 'Service'} ${key}`,
    }));
}
