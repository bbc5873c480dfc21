import { yamlPieces } from '../../api/schema/write-yaml.ts';
import type { ApiRequest, BodyReply, ListReply, Reply } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import { isTrue } from '../request.ts';
import { encodingOf } from './accept.ts';
import type { ListBody } from './presenter.ts';
import { prettyPieces } from './pretty.ts';

/**
 * Characters that are read and written for one piece, besides the object or string that exceeds them: other requests
 * wait while a piece is made.
 */
const pieceWork = 128 << 10;

/** Encodes an answer as the client asked: compact JSON, JSON that is indented for people, or YAML. */
export function encodeReply(answer: Reply | ListReply, request: ApiRequest, info: RequestInfo): Reply {
  if ('stream' in answer) return answer;
  const { status, headers } = answer;
  if (headers['Content-Type'] === 'application/json') {
    if (encodingOf(request.header('accept')) === 'yaml') {
      const body = 'list' in answer ? yamlList(answer.list) : yamlPieces(JSON.parse(textOf(answer)), pieceWork);
      return { status, headers: { ...headers, 'Content-Type': 'application/yaml' }, body };
    }
    if (wantsPretty(request, info)) {
      const json = 'list' in answer ? jsonList(answer.list) : [textOf(answer)];
      return { status, headers, body: prettyPieces(json, pieceWork) };
    }
  }
  return 'list' in answer ? { status, headers, body: jsonList(answer.list) } : answer;
}

const textOf = ({ body }: BodyReply): string =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : [...body].join('');

function* jsonList({ head, field, items, write }: ListBody): Generator<string, void> {
  let out = `${JSON.stringify(head).slice(0, -1)},"${field}":[`;
  let work = 0;
  let separator = '';
  for (const item of items) {
    const json = write(item);
    out += separator + json;
    separator = ',';
    // An object that leaves little in its row had to be read all the same.
    work += item.entry.value.length + json.length;
    if (work < pieceWork) continue;
    yield out;
    out = '';
    work = 0;
  }
  yield `${out}]}\n`;
}

/** Keys are sorted, so some fields of the head come after the objects. */
function* yamlList({ head, field, items, write }: ListBody): Generator<string, void> {
  let out = '';
  for (const key of [...Object.keys(head), field].sort()) {
    if (key !== field) {
      for (const piece of yamlPieces({ [key]: head[key] }, pieceWork)) out += piece;
      continue;
    }
    const before = `${out}${field}:`;
    out = `${before}\n`;
    let work = 0;
    let isEmpty = true;
    for (const item of items) {
      isEmpty = false;
      const json = write(item);
      work += item.entry.value.length + json.length;
      for (const piece of yamlPieces([JSON.parse(json)], pieceWork)) {
        out += piece;
        work += piece.length;
        if (work < pieceWork) continue;
        yield out;
        out = '';
        work = 0;
      }
    }
    if (isEmpty) out = `${before} []\n`;
  }
  yield out;
}

function wantsPretty(request: ApiRequest, { query }: RequestInfo): boolean {
  const asked = query.get('pretty');
  if (asked !== null) return isTrue(asked);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(request.header('user-agent') ?? '');
}
