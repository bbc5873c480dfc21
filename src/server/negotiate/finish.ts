import { toYaml } from '../../api/schema/write-yaml.ts';
import type { ApiRequest, BodyReply } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import { isTrue } from '../request.ts';
import { encodingOf } from './accept.ts';

/** The last touch to a JSON reply: YAML for those who asked for it, indentation for people. */
export function finish(reply: BodyReply, request: ApiRequest, info: RequestInfo): BodyReply {
  const type = reply.headers['Content-Type'];
  if (type !== 'application/json') return reply;
  if (encodingOf(request.header('accept')) === 'yaml') {
    return { ...reply, headers: { ...reply.headers, 'Content-Type': 'application/yaml' }, body: toYaml(parsed(reply)) };
  }
  if (!wantsPretty(request, info)) return reply;
  return { ...reply, body: `${JSON.stringify(parsed(reply), null, 2)}\n` };
}

function parsed({ body }: BodyReply): unknown {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : [...body].join('');
  return JSON.parse(text);
}

function wantsPretty(request: ApiRequest, { query }: RequestInfo): boolean {
  const asked = query.get('pretty');
  if (asked !== null) return isTrue(asked);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(request.header('user-agent') ?? '');
}
