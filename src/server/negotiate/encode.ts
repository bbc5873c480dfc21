import { yamlPieces } from '../../api/schema/write-yaml.ts';
import type { ApiRequest, BodyReply, ListReply, Reply } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import { isTrue } from '../request.ts';
import { encodingOf } from './accept.ts';
import type { ListBody } from './presenter.ts';
import { prettyPieces } from './pretty.ts';

/**
 * Characters that are read and written for one piece, beyond which only the current object or string is completed. Other
 * requests wait while a piece is encoded.
 */
const pieceCost = 128 << 10;

/** Encodes a reply as requested: compact JSON, indented JSON, or YAML. */
export function encodeReply(answer: Reply | ListReply, request: ApiRequest, info: RequestInfo): Reply {
  if ('stream' in answer) return answer;
  const { status, headers } = answer;
  if (headers['Content-Type'] === 'application/json') {
    if (encodingOf(request.header('accept')) === 'yaml') {
      const body = 'list' in answer ? yamlList(answer.list) : yamlPieces(JSON.parse(textOf(answer)), pieceCost);
      return { status, headers: { ...headers, 'Content-Type': 'application/yaml' }, body };
    }
    if (wantsPretty(request, info)) {
      const json = 'list' in answer ? jsonList(answer.list) : [textOf(answer)];
      return { status, headers, body: prettyPieces(json, pieceCost) };
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
    // The whole object was read even if its table row is short.
    work += item.entry.value.length + json.length;
    if (work < pieceCost) continue;
    yield out;
    out = '';
    work = 0;
  }
  yield `${out}]}\n`;
}

/** Keys are sorted, so some fields of the head follow the objects. */
function* yamlList({ head, field, items, write }: ListBody): Generator<string, void> {
  let out = '';
  for (const key of [...Object.keys(head), field].sort()) {
    if (key !== field) {
      for (const piece of yamlPieces({ [key]: head[key] }, pieceCost)) out += piece;
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
      for (const piece of yamlPieces([JSON.parse(json)], pieceCost)) {
        out += piece;
        work += piece.length;
        if (work < pieceCost) continue;
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
